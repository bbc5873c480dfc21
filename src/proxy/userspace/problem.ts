import { contains, parseAddress, parseCidr } from '../../api/addresses.ts';
import { codeOf } from '../../api/error-message.ts';
import type { Route } from '../routes/route.ts';
import { placeText } from '../routes/route.ts';

/**
 * Why listening for a route failed, and what to do about it. If a whole range of virtual addresses is not configured on this
 * machine, the sentence is about the range and the same for all routes in it.
 */
export function listenProblem(route: Route, error: unknown, serviceRanges: readonly string[]): string {
  const { owner, address, protocol } = route;
  const code = codeOf(error);
  const range = code === 'EADDRNOTAVAIL' ? rangeOf(address, serviceRanges) : undefined;
  if (range !== undefined) return `nothing is served in ${range}: ${reasonOf(code, range, error)}`;
  return `${owner} is not served at ${placeText(route)}/${protocol}: ${reasonOf(code, address, error)}`;
}

/** Why some addresses and ports of an owner have no listener. */
export const limitProblem = (owner: string, listeners: number): string =>
  `${owner} is not served at all of its addresses and ports: \`ulimit -n\` leaves ${listeners} listeners, ` +
  'which all namespaces share: raise the limit, or use nftables';

function rangeOf(address: string, ranges: readonly string[]): string | undefined {
  const parsed = parseAddress(address);
  return ranges.find((range) => {
    const cidr = parseCidr(range);
    return parsed !== undefined && cidr !== undefined && contains(cidr, parsed);
  });
}

function reasonOf(code: string, address: string, error: unknown): string {
  if (isOutOfDescriptors(error))
    return 'there are no descriptors left: raise `ulimit -n`; every address and port takes one';
  switch (code) {
    case 'EADDRINUSE':
      return 'another program has that port: stop it, or give the Service another';
    case 'EACCES':
      return (
        'ports below 1024 are reserved: run with CAP_NET_BIND_SERVICE, or set ' +
        'sysctl net.ipv4.ip_unprivileged_port_start=0'
      );
    case 'EADDRNOTAVAIL':
      return `no interface has the address: route it to this machine with ${localRouteCommand(address)}, or use nftables`;
    default:
      return code === '' ? String(error) : code;
  }
}

/** A local route is enough for IPv4; IPv6 sockets also need a sysctl. */
const localRouteCommand = (address: string): string =>
  address.includes(':')
    ? `\`ip -6 route add local ${address} dev lo\` and \`sysctl net.ipv6.ip_nonlocal_bind=1\``
    : `\`ip route add local ${address} dev lo\``;

/** Whether a socket could not be opened because the process or the machine has no descriptor left. */
export const isOutOfDescriptors = (error: unknown): boolean => ['EMFILE', 'ENFILE'].includes(codeOf(error));
