import type { Address, Cidr } from '../../api/addresses.ts';
import { contains, parseAddress, parseCidr } from '../../api/addresses.ts';
import type { Clock } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import { BoundedMap } from './bounded-map.ts';

/** Addresses of this machine. */
export const loopbackRanges: readonly string[] = ['127.0.0.0/8', '::1/128'];

/** Networks that are not reachable from the Internet: RFC 1918, 6598 (carriers and Pods of many clouds), 4193, link-local. */
export const privateRanges: readonly string[] = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '169.254.0.0/16',
  'fc00::/7',
  'fe80::/10',
];

/**
 * Clients that may recurse by default: this machine, and the ranges of Pods and Services, or all private ranges if those are
 * unknown.
 */
export function defaultAllowed(clusterRanges: readonly string[], ownAddresses: readonly string[]): readonly string[] {
  const own = ownAddresses.map((address) => `${address}/${address.includes(':') ? 128 : 32}`);
  return [...loopbackRanges, ...own, ...(clusterRanges.length > 0 ? clusterRanges : privateRanges)];
}

export interface PolicyOptions {
  /** CIDRs that may recurse; all other clients are refused. */
  readonly allow: readonly string[];
  /** Forwarded queries per second of one client, without cached answers; default 1000, 0: no limit. */
  readonly perSecond?: number;
  /** Queries allowed at once after a pause; default one second's. */
  readonly burst?: number;
  /** Maximum number of tracked clients; default 10,000. An evicted client starts with a full burst. */
  readonly clients?: number;
  readonly clock?: Clock;
}

interface Client {
  readonly isAllowed: boolean;
  /** Available tokens as of `at`. */
  tokens: number;
  at: number;
}

/** Decides which clients may recurse, and limits their rate. */
export class RecursionPolicy {
  readonly #ranges: readonly Cidr[];
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #clock: Clock;
  /** By address; IPv6 clients share the state of their /64, in which they can use any address. */
  readonly #clients: BoundedMap<Client>;

  /** Throws if a range is malformed. */
  constructor({ allow, perSecond = 1000, burst = perSecond, clients = 10_000, clock = systemClock }: PolicyOptions) {
    this.#ranges = allow.map(readRange);
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#clock = clock;
    this.#clients = new BoundedMap({ entries: clients, bytes: Infinity });
  }

  /** Number of tracked clients. */
  get clients(): number {
    return this.#clients.size;
  }

  /** Whether an address may recurse. */
  isAllowed(address: string): boolean {
    return this.#client(address).isAllowed;
  }

  /** Takes a token of a client; returns false if it has none left. */
  spend(address: string): boolean {
    if (this.#perSecond === 0) return true;
    const client = this.#client(address);
    const now = this.#clock.elapsed();
    client.tokens = Math.min(this.#burst, client.tokens + ((now - client.at) / 1000) * this.#perSecond);
    client.at = now;
    if (client.tokens < 1) return false;
    client.tokens -= 1;
    return true;
  }

  #client(address: string): Client {
    const known = this.#clients.get(address);
    if (known !== undefined) return known;
    const parsed = parseAddress(withoutZone(address));
    const key = parsed?.family === 'IPv6' ? `${parsed.value >> 64n}` : address;
    const sameNetwork = key === address ? undefined : this.#clients.get(key);
    const isAllowed = parsed !== undefined && this.#ranges.some((range) => contains(range, parsed));
    const client = sameNetwork?.isAllowed === isAllowed ? sameNetwork : this.#newClient(isAllowed);
    this.#clients.set(key, client, 1);
    if (key !== address) this.#clients.set(address, client, 1);
    return client;
  }

  #newClient(isAllowed: boolean): Client {
    return { isAllowed, tokens: this.#burst, at: this.#clock.elapsed() };
  }
}

/** Removes the interface of a link-local address. */
const withoutZone = (address: string): string => address.split('%', 1)[0] ?? '';

function readRange(text: string): Cidr {
  const address: Address | undefined = parseAddress(text);
  const bits = address?.family === 'IPv6' ? 128 : 32;
  const cidr = parseCidr(address === undefined ? text : `${text}/${bits}`);
  if (cidr === undefined)
    throw new RangeError(`"${text}" is not a range of addresses: write it as 10.0.0.0/8 or fd00::/8`);
  return cidr;
}
