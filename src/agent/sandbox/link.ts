// The commands that connect the network namespace of a Pod to the machine: a pair of links, and a route on each side. Every
// packet of a Pod is routed by the machine, so that rules for Services apply to it as well. No clock, no I/O.
import { createHash } from 'node:crypto';
import { bitsOf, familyOf, parseCidr, printAddress } from '../../api/addresses.ts';

/** The machine's side of the link of a Pod; names of links have at most 15 characters. */
export const linkOf = (uid: string): string => `fl${createHash('sha256').update(uid).digest('hex').slice(0, 12)}`;

/** The address of the machine towards its Pods: the first one of their range. */
export function gatewayOf(cidr: string): string {
  const range = parseCidr(cidr);
  if (range === undefined) throw new Error(`"${cidr}" is not a range of addresses`);
  return printAddress(range.family, range.network + 1n);
}

export interface Link {
  readonly uid: string;
  readonly ip: string;
  readonly gateway: string;
  /** A process in the namespace of the Pod. */
  readonly pid: number;
}

/** For `ip -batch` on the machine. */
export function machineCommands({ uid, ip, gateway, pid }: Link): string {
  const link = linkOf(uid);
  const { bits, flags } = familyFacts(ip);
  return lines(
    `link add ${link} type veth peer name eth0 netns ${pid}`,
    `address add ${gateway}/${bits} dev ${link}${flags}`,
    `link set ${link} up`,
    `route replace ${ip}/${bits} dev ${link}`,
  );
}

/** For `ip -batch` in the namespace. */
export function podCommands({ ip, gateway }: Link): string {
  const { bits, flags } = familyFacts(ip);
  return lines(
    'link set lo up',
    `address add ${ip}/${bits} dev eth0${flags}`,
    'link set eth0 up',
    `route add ${gateway}/${bits} dev eth0`,
    `route add default via ${gateway} dev eth0`,
  );
}

interface FamilyFacts {
  readonly bits: number;
  /** No duplicate address detection: the agent allocates each address once. */
  readonly flags: string;
}

function familyFacts(ip: string): FamilyFacts {
  const family = familyOf(ip) ?? 'IPv4';
  return { bits: bitsOf(family), flags: family === 'IPv6' ? ' nodad' : '' };
}

const lines = (...commands: readonly string[]): string => `${commands.join('\n')}\n`;
