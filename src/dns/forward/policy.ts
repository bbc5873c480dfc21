import type { Address, Cidr } from '../../api/addresses.ts';
import { contains, parseAddress, parseCidr } from '../../api/addresses.ts';
import type { Clock } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import { BoundedMap } from './bounded-map.ts';

/** This machine. */
export const loopbackRanges: readonly string[] = ['127.0.0.0/8', '::1/128'];

/** Networks that the Internet does not reach: RFC 1918, 6598 (carriers, and many clouds' Pods), 4193, link-local. */
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
 * Who may have questions forwarded unless told otherwise: this machine, and the ranges of Pods and Services, or all
 * private ones where these are not known.
 */
export function defaultAllowed(clusterRanges: readonly string[], ownAddresses: readonly string[]): readonly string[] {
  const own = ownAddresses.map((address) => `${address}/${address.includes(':') ? 128 : 32}`);
  return [...loopbackRanges, ...own, ...(clusterRanges.length > 0 ? clusterRanges : privateRanges)];
}

export interface PolicyOptions {
  /** CIDRs whose addresses may recurse; everybody else is refused. */
  readonly allow: readonly string[];
  /** Questions a second that one client may have forwarded, cached answers not counted; default 1000, 0: no limit. */
  readonly perSecond?: number;
  /** Questions that it may have at once after a pause; default one second's. */
  readonly burst?: number;
  /** Clients remembered; default 10,000. One that was forgotten starts anew. */
  readonly clients?: number;
  readonly clock?: Clock;
}

interface Client {
  readonly isAllowed: boolean;
  /** Questions it may ask now, as of `at`. */
  tokens: number;
  at: number;
}

/** Who may have questions forwarded, and how many. */
export class RecursionPolicy {
  readonly #ranges: readonly Cidr[];
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #clock: Clock;
  /** By address; of IPv6 by its network, since a client has as many addresses as it likes in there. */
  readonly #clients: BoundedMap<Client>;

  /** Throws if a range is none. */
  constructor({ allow, perSecond = 1000, burst = perSecond, clients = 10_000, clock = systemClock }: PolicyOptions) {
    this.#ranges = allow.map(readRange);
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#clock = clock;
    this.#clients = new BoundedMap({ entries: clients, bytes: Infinity });
  }

  /** How many clients it remembers. */
  get clients(): number {
    return this.#clients.size;
  }

  /** Whether an address may recurse at all. */
  isAllowed(address: string): boolean {
    return this.#client(address).isAllowed;
  }

  /** Takes one question from what a client may ask; false: it has asked too many. */
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

/** A link-local address comes with the interface it was seen on. */
const withoutZone = (address: string): string => address.split('%', 1)[0] ?? '';

function readRange(text: string): Cidr {
  const address: Address | undefined = parseAddress(text);
  const bits = address?.family === 'IPv6' ? 128 : 32;
  const cidr = parseCidr(address === undefined ? text : `${text}/${bits}`);
  if (cidr === undefined)
    throw new RangeError(`"${text}" is no range of addresses: write it as 10.0.0.0/8 or fd00::/8`);
  return cidr;
}
