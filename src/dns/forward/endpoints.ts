// Which servers to ask: as a person writes them, and as the machine is configured.
import { canonicalAddress } from '../../api/addresses.ts';
import type { Endpoint } from './udp.ts';

const defaultPort = 53;

/** `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`; undefined if it is none of these. */
export function parseEndpoint(text: string): Endpoint | undefined {
  const [, bracketed, plain, digits = String(defaultPort)] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(
    text,
  ) ?? [undefined, text, undefined];
  const address = canonicalAddress(bracketed ?? plain ?? text);
  const port = Number(digits);
  return address === undefined || port < 1 || port > 65_535 ? undefined : { address, port };
}

/** Where we answer ourselves. */
export interface OwnPlaces {
  /** Addresses that we listen on; `0.0.0.0` and `::` stand for all of the machine. */
  readonly listen: readonly Endpoint[];
  /** Addresses of the machine. */
  readonly machine: readonly string[];
}

/** The servers of an `/etc/resolv.conf`, and those left out because they are ourselves: to ask them is a loop. */
export function endpointsOfResolvConf(
  text: string,
  own: OwnPlaces,
): { readonly upstreams: readonly Endpoint[]; readonly ourselves: readonly Endpoint[] } {
  const all = text.split('\n').flatMap((line) => {
    const [keyword, value = ''] = line.trim().split(/\s+/);
    // A link-local server comes with its interface, which we cannot ask through.
    const endpoint = keyword === 'nameserver' && !value.includes('%') ? parseEndpoint(value) : undefined;
    return endpoint === undefined ? [] : [{ ...endpoint, port: defaultPort }];
  });
  const unique = all.filter((each, index) => all.findIndex((other) => other.address === each.address) === index);
  return {
    upstreams: unique.filter((each) => !isOurselves(each, own)),
    ourselves: unique.filter((each) => isOurselves(each, own)),
  };
}

/** Whether a question to an endpoint would come to us. */
export function isOurselves({ address, port }: Endpoint, { listen, machine }: OwnPlaces): boolean {
  const isHere = machine.includes(address) || address.startsWith('127.') || address === '::1';
  const family = (text: string): boolean => text.includes(':');
  return listen.some((place) => {
    if (place.port !== port) return false;
    if (place.address === address) return true;
    // `::` takes IPv4 too on most machines.
    const isAll = place.address === '::' || (place.address === '0.0.0.0' && !family(address));
    return isAll && isHere;
  });
}
