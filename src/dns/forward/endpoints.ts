// Parses addresses of upstreams in options and in resolv.conf.
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

/** The server's own addresses. */
export interface OwnAddresses {
  /** Listen addresses; `0.0.0.0` and `::` stand for all addresses of the machine. */
  readonly listen: readonly Endpoint[];
  /** Addresses of the machine. */
  readonly machine: readonly string[];
}

/** The name servers of an `/etc/resolv.conf`, and apart from them those that are this server: forwarding to it is a loop. */
export function endpointsOfResolvConf(
  text: string,
  own: OwnAddresses,
): { readonly upstreams: readonly Endpoint[]; readonly self: readonly Endpoint[] } {
  const all = text.split('\n').flatMap((line) => {
    const [keyword, value = ''] = line.trim().split(/\s+/);
    // A link-local address names an interface, which our sockets do not support.
    const endpoint = keyword === 'nameserver' && !value.includes('%') ? parseEndpoint(value) : undefined;
    return endpoint === undefined ? [] : [{ ...endpoint, port: defaultPort }];
  });
  const unique = all.filter((each, index) => all.findIndex((other) => other.address === each.address) === index);
  return {
    upstreams: unique.filter((each) => !isSelf(each, own)),
    self: unique.filter((each) => isSelf(each, own)),
  };
}

/** Whether a query to this endpoint would reach this server. */
export function isSelf({ address, port }: Endpoint, { listen, machine }: OwnAddresses): boolean {
  const isLocal = machine.includes(address) || address.startsWith('127.') || address === '::1';
  const family = (text: string): boolean => text.includes(':');
  return listen.some((listener) => {
    if (listener.port !== port) return false;
    if (listener.address === address) return true;
    // `::` accepts IPv4 too on most machines.
    const isWildcard = listener.address === '::' || (listener.address === '0.0.0.0' && !family(address));
    return isWildcard && isLocal;
  });
}
