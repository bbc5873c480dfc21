// What this machine is to the network, from its Node object and its own addresses.
import { networkInterfaces } from 'node:os';

import type { Cidr, IpFamily } from '../../api/addresses.ts';
import {
  bitsOf,
  canonicalAddress,
  canonicalCidr,
  contains,
  familyOf,
  parseAddress,
  parseCidr,
  printAddress,
} from '../../api/addresses.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { ServiceCidr } from '../../api/kinds/networking/servicecidr/schema.ts';
import type { ProxyOptions } from '../options.ts';
import { isLoopback } from '../routes/decide.ts';
import type { ThisNode } from '../routes/options.ts';
import type { NodeNetwork } from '../routes/route.ts';

/** What is known of the machine. */
export interface Surroundings {
  readonly node: Node | undefined;
  /** The addresses of its interfaces. */
  readonly machineAddresses: readonly string[];
  readonly serviceCidrs: readonly ServiceCidr[];
  readonly options: ProxyOptions;
}

/** The node, as routes see it. */
export function thisNode(surroundings: Surroundings): ThisNode {
  const { node, options } = surroundings;
  return {
    name: options.nodeName,
    labels: node === undefined ? undefined : { 'kubernetes.io/hostname': options.nodeName, ...node.metadata.labels },
    ...(options.clusterId === undefined ? {} : { cluster: options.clusterId }),
    nodePortAddresses: nodePortAddresses(surroundings),
  };
}

/** The networks around it, as backends see them. */
export function nodeNetwork({ node, machineAddresses, serviceCidrs, options }: Surroundings): NodeNetwork {
  const ownPods = node?.spec?.podCIDRs ?? (node?.spec?.podCIDR ? [node.spec.podCIDR] : []);
  const services = serviceCidrs.flatMap(({ spec }) => spec?.cidrs ?? []);
  return {
    addresses: new Set(machineAddresses.flatMap((address) => canonicalAddress(address) ?? [])),
    podRanges: canonical(options.podRanges ?? ownPods),
    serviceRanges: canonical([...(options.serviceRanges ?? []), ...services]),
    masqueradeAll: options.masqueradeAll ?? false,
  };
}

const canonical = (ranges: readonly string[]): readonly string[] =>
  [...new Set(ranges.flatMap((range) => canonicalCidr(range) ?? []))].sort();

function nodePortAddresses({ node, machineAddresses, options }: Surroundings): readonly string[] {
  const wanted = options.nodePortAddresses ?? ['primary'];
  const ranges = wanted.flatMap((range) => parseCidr(range) ?? []);
  // The kernel does not translate what is sent to loopback; listeners there are for who asks for them.
  const isMeant = (range: Cidr, address: string): boolean =>
    options.mode !== 'nftables' || !isLoopback(address) || isLoopback(printAddress(range.family, range.network));
  const inRanges = machineAddresses.flatMap((text) => {
    const address = parseAddress(text);
    const canon = canonicalAddress(text);
    if (address === undefined || canon === undefined) return [];
    return ranges.some((range) => contains(range, address) && isMeant(range, canon)) ? [canon] : [];
  });
  // Every address of 127.0.0.0/8 is there to be listened on, though interfaces name one: a range of one is that address.
  const single = ranges
    .filter(({ family, prefixLength }) => prefixLength === bitsOf(family))
    .map(({ family, network }) => printAddress(family, network))
    .filter(isLoopback);
  const primary = wanted.includes('primary') ? primaryAddresses(node) : [];
  return [...new Set([...primary, ...[...inRanges, ...single].sort()])];
}

/**
 * Why load balancers should send nothing more to a node, if they should not: it is about to go, and what they send now
 * would be cut off (KEP-3836). Connections that there are go on.
 */
export function whyLeaving({ metadata, spec }: Node): string | undefined {
  const { name, deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined) return `Node ${name} is being deleted`;
  const isChosen = spec?.taints?.some(({ key }) => key === toBeDeletedTaint) ?? false;
  return isChosen ? `Node ${name} is about to be removed: it has the taint ${toBeDeletedTaint}` : undefined;
}

/** What the cluster autoscaler puts on a node that it is about to remove. */
const toBeDeletedTaint = 'ToBeDeletedByClusterAutoscaler';

/** The first address of each family that the Node says is its own, inside before outside. */
function primaryAddresses(node: Node | undefined): readonly string[] {
  const said = node?.status?.addresses ?? [];
  const found = new Map<IpFamily, string>();
  for (const type of ['InternalIP', 'ExternalIP']) {
    for (const { type: of, address } of said) {
      const family = of === type ? familyOf(address) : undefined;
      if (family !== undefined && !found.has(family)) found.set(family, canonicalAddress(address) ?? address);
    }
  }
  return [...found.values()];
}

/** The addresses of the machine's interfaces. */
export function machineAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));
}
