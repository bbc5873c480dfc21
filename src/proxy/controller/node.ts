// Derives what routes depend on from the Node object and the addresses of this machine.
import { networkInterfaces } from 'node:os';

import type { Cidr, IpFamily } from '../../api/addresses.ts';
import { isLoopback } from '../../api/addresses.ts';
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
import type { ThisNode } from '../routes/options.ts';
import type { NodeNetwork } from '../routes/route.ts';

/** The Node object and the machine. */
export interface NodeState {
  readonly node: Node | undefined;
  /** The addresses of its interfaces. */
  readonly machineAddresses: readonly string[];
  readonly serviceCidrs: readonly ServiceCidr[];
  readonly options: ProxyOptions;
}

/** The node for `routes/`. */
export function thisNode(nodeState: NodeState): ThisNode {
  const { node, options } = nodeState;
  return {
    name: options.nodeName,
    labels: node === undefined ? undefined : { 'kubernetes.io/hostname': options.nodeName, ...node.metadata.labels },
    ...(options.clusterId === undefined ? {} : { cluster: options.clusterId }),
    nodePortAddresses: nodePortAddresses(nodeState),
  };
}

/** The network of the node for backends. */
export function nodeNetwork({ node, machineAddresses, serviceCidrs, options }: NodeState): NodeNetwork {
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

function nodePortAddresses({ node, machineAddresses, options }: NodeState): readonly string[] {
  const wanted = options.nodePortAddresses ?? ['primary'];
  const ranges = wanted.flatMap((range) => parseCidr(range) ?? []);
  // The kernel does not translate packets to loopback addresses; listeners there must be requested explicitly.
  const isRequested = (range: Cidr, address: string): boolean =>
    options.mode !== 'nftables' || !isLoopback(address) || isLoopback(printAddress(range.family, range.network));
  const inRanges = machineAddresses.flatMap((text) => {
    const address = parseAddress(text);
    const canon = canonicalAddress(text);
    if (address === undefined || canon === undefined) return [];
    return ranges.some((range) => contains(range, address) && isRequested(range, canon)) ? [canon] : [];
  });
  // All addresses of 127.0.0.0/8 can be listened on, though the interface lists one: a range of one address is that address.
  const single = ranges
    .filter(({ family, prefixLength }) => prefixLength === bitsOf(family))
    .map(({ family, network }) => printAddress(family, network))
    .filter(isLoopback);
  const primary = wanted.includes('primary') ? primaryAddresses(node) : [];
  return [...new Set([...primary, ...[...inRanges, ...single].sort()])];
}

/** Why load balancers should stop using a node: it is about to be removed (KEP-3836). Existing connections continue. */
export function drainReason({ metadata, spec }: Node): string | undefined {
  const { name, deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined) return `Node ${name} is being deleted`;
  const isTainted = spec?.taints?.some(({ key }) => key === toBeDeletedTaint) ?? false;
  return isTainted ? `Node ${name} is about to be removed: it has the taint ${toBeDeletedTaint}` : undefined;
}

/** The taint of the cluster autoscaler on a node that it is about to remove. */
const toBeDeletedTaint = 'ToBeDeletedByClusterAutoscaler';

/** The first address of each family in the Node's status, InternalIP before ExternalIP. */
function primaryAddresses(node: Node | undefined): readonly string[] {
  const addresses = node?.status?.addresses ?? [];
  const found = new Map<IpFamily, string>();
  for (const type of ['InternalIP', 'ExternalIP']) {
    for (const { type: of, address } of addresses) {
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
