// Kubernetes' libraries for URLs, IP addresses and CIDRs.

import type { Address, Cidr } from '../../addresses.ts';
import { bitsOf, contains, parseAddress, parseCidr, printAddress } from '../../addresses.ts';
import { isRequestUri } from '../../structural/formats.ts';
import type { CelFunction } from '../functions.ts';
import { define } from '../functions.ts';
import { CelError, CelList, LibraryValue, MadeMap } from '../values.ts';
import type { Value } from '../values.ts';
import { traversal } from './standard.ts';

type Ip = LibraryValue<Address>;
type Range = LibraryValue<Cidr>;
type Url = LibraryValue<URL>;

const read = ([length = 0]: readonly number[]): number => traversal(length);

/** Kubernetes' libraries accept neither IPv4-mapped addresses nor leading zeros. */
function addressOf(text: string): Address | undefined {
  const address = parseAddress(text);
  return address === undefined || address.isMapped || address.hasLeadingZeros ? undefined : address;
}

const ipValue = (address: Address): Ip => new LibraryValue('ip', printAddress(address.family, address.value), address);

function ip(text: string): Ip {
  const address = addressOf(text);
  if (address !== undefined) return ipValue(address);
  const mapped = parseAddress(text)?.isMapped === true;
  throw new CelError(
    mapped
      ? `IPv4-mapped IPv6 address is not allowed`
      : text.includes('%')
        ? `IP address with zone value is not allowed`
        : `IP Address ${JSON.stringify(text)} parse error during conversion from string: ParseAddr(${JSON.stringify(text)}): unable to parse IP`,
  );
}

function rangeOf(text: string): Cidr | undefined {
  const cidr = parseCidr(text);
  return cidr === undefined || cidr.isMapped || cidr.hasLeadingZeros ? undefined : cidr;
}

const printRange = ({ family, address, prefixLength }: Cidr): string =>
  `${printAddress(family, address)}/${prefixLength}`;

function cidr(text: string): Range {
  const range = rangeOf(text);
  if (range === undefined) {
    throw new CelError(
      `network address parse error during conversion from string: netip.ParsePrefix(${JSON.stringify(text)})`,
    );
  }
  return new LibraryValue('cidr', printRange(range), range);
}

const containsRange = ({ data: outer }: Range, { data: inner }: Range): boolean =>
  inner.prefixLength >= outer.prefixLength && contains(outer, { family: inner.family, value: inner.network });

const inRange = (text: string, address: Address): boolean => {
  const range = parseCidr(text);
  return range !== undefined && contains(range, address);
};

const isUnspecified = ({ value }: Address): boolean => value === 0n;
const isLoopback = (address: Address): boolean => inRange('127.0.0.0/8', address) || inRange('::1/128', address);
const isLinkLocalMulticast = (address: Address): boolean =>
  inRange('224.0.0.0/24', address) || (inRange('ff00::/8', address) && ((address.value >> 112n) & 0xfn) === 2n);
const isLinkLocalUnicast = (address: Address): boolean =>
  inRange('169.254.0.0/16', address) || inRange('fe80::/10', address);
const isMulticast = (address: Address): boolean => inRange('224.0.0.0/4', address) || inRange('ff00::/8', address);
const isBroadcast = ({ family, value }: Address): boolean => family === 'IPv4' && value === 0xffffffffn;
const isGlobalUnicast = (address: Address): boolean =>
  ![isUnspecified, isLoopback, isMulticast, isLinkLocalUnicast, isBroadcast].some((test) => test(address));

function masked({ data }: Range): Range {
  const range = { ...data, address: data.network };
  return new LibraryValue('cidr', printRange(range), range);
}

const ipOf = ({ data: { family, address } }: Range): Ip =>
  ipValue({ family, value: address, hasLeadingZeros: false, isMapped: false });

const familyNumber = ({ data }: Ip): bigint => (bitsOf(data.family) === 32 ? 4n : 6n);

const compareRange = ([size = 0, other = 0]: readonly number[]): number => traversal(2 * size) + traversal(other) + 1;

function url(text: string): Url {
  if (!isRequestUri(text))
    throw new CelError(
      `URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`,
    );
  const isPath = text.startsWith('/');
  return new LibraryValue('url', text, new URL(isPath ? `path:${text}` : text));
}

const scheme = ({ data }: Url): string => (data.protocol === 'path:' ? '' : data.protocol.slice(0, -1));

/** Node drops the default port of a scheme; Kubernetes keeps what the text has. */
const portOf = ({ key }: Url): string => /^[a-zA-Z][\w+.-]*:\/\/[^/?#]*:(\d{1,5})(?:[/?#]|$)/.exec(key)?.[1] ?? '';

const hostOf = (value: Url): string =>
  scheme(value) === '' ? '' : value.data.hostname + (portOf(value) === '' ? '' : `:${portOf(value)}`);

/** Node adds a slash to an empty path. */
const pathOf = ({ data, key }: Url): string =>
  data.pathname === '/' && !/^(?:[a-zA-Z][\w+.-]*:\/\/[^/?#]*)?\//.test(key) ? '' : data.pathname;

function queryOf({ data }: Url): Value {
  const names = [...new Set(data.searchParams.keys())];
  return new MadeMap(names.map((name) => [name, CelList.of(data.searchParams.getAll(name))]));
}

export const networkFunctions: readonly CelFunction[] = [
  define('url(string): url', url, read),
  define('isURL(string): bool', isRequestUri, read),
  define('url.getScheme(): string', scheme),
  define('url.getHost(): string', hostOf),
  define('url.getHostname(): string', (value: Url) =>
    scheme(value) === '' ? '' : value.data.hostname.replace(/^\[|\]$/g, ''),
  ),
  define('url.getPort(): string', portOf),
  define('url.getEscapedPath(): string', pathOf),
  define('url.getQuery(): map<string,list<string>>', queryOf),
  define('ip(string): ip', ip, read),
  define('isIP(string): bool', (text: string) => addressOf(text) !== undefined, read),
  define(
    '::ip.isCanonical(string): bool',
    (text: string) => ip(text).key === text,
    ([length = 0]) => traversal(length, 2),
  ),
  define('ip.family(): int', familyNumber),
  define('ip.isUnspecified(): bool', ({ data }: Ip) => isUnspecified(data)),
  define('ip.isLoopback(): bool', ({ data }: Ip) => isLoopback(data)),
  define('ip.isLinkLocalMulticast(): bool', ({ data }: Ip) => isLinkLocalMulticast(data)),
  define('ip.isLinkLocalUnicast(): bool', ({ data }: Ip) => isLinkLocalUnicast(data)),
  define('ip.isGlobalUnicast(): bool', ({ data }: Ip) => isGlobalUnicast(data)),
  define('cidr(string): cidr', cidr, read),
  define('isCIDR(string): bool', (text: string) => rangeOf(text) !== undefined, read),
  define('cidr.ip(): ip', ipOf),
  define('cidr.masked(): cidr', masked),
  define('cidr.prefixLength(): int', ({ data }: Range) => BigInt(data.prefixLength)),
  define('cidr.containsIP(ip): bool', ({ data }: Range, address: Ip) => contains(data, address.data), compareRange),
  define(
    'cidr.containsIP(string): bool',
    ({ data }: Range, text: string) => contains(data, ip(text).data),
    compareRange,
  ),
  define('cidr.containsCIDR(cidr): bool', containsRange, compareRange),
  define(
    'cidr.containsCIDR(string): bool',
    (outer: Range, text: string) => containsRange(outer, cidr(text)),
    compareRange,
  ),
];
