// The nodes and endpoints that load balancers send traffic to. Readiness of nodes is left to health checks (KEP-3458).
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { protocolOf } from '../../api/kinds/core/service/facts.ts';
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { byName } from '../../api/order.ts';
import type { Backends } from './provider.ts';

const exclusionLabel = 'node.kubernetes.io/exclude-from-external-load-balancers';
const scalerTaint = 'ToBeDeletedByClusterAutoscaler';
const falseWords = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

/** Any value of the label that does not parse as false excludes the node. */
function isExcluded({ metadata }: Node): boolean {
  const value = metadata.labels?.[exclusionLabel];
  return value !== undefined && !falseWords.has(value);
}

export interface EligibleNodes {
  /** Sorted by name. */
  readonly nodes: readonly Node[];
  /** Equal signatures mean that load balancers need no update. */
  readonly signature: string;
}

/** The nodes that load balancers send to. */
export function eligibleNodes(all: readonly Node[]): EligibleNodes {
  const nodes = all
    .filter(
      (node) =>
        node.metadata.deletionTimestamp === undefined &&
        !isExcluded(node) &&
        node.spec.taints?.some(({ key }) => key === scalerTaint) !== true,
    )
    .toSorted(byName);
  const signature = JSON.stringify(nodes.map(({ metadata, spec }) => [metadata.name, spec.providerID ?? '']));
  return { nodes, signature };
}

/** Whether a change of a node is sent to load balancers at once. Readiness and the autoscaler taint are not. */
export const affectsLoadBalancers = (node: Node, old: Node): boolean =>
  isExcluded(node) !== isExcluded(old) ||
  (node.spec.providerID ?? '') !== (old.spec.providerID ?? '') ||
  node.metadata.uid !== old.metadata.uid;

/** Backends and their signature. */
export interface KnownBackends extends Backends {
  /** Equal signatures mean that the load balancer needs no update. */
  readonly signature: string;
  /** The load balancer sends to nodes and there are none. */
  readonly hasNoNodes: boolean;
}

/** Backends of a load balancer that sends to nodes. */
export const nodeBackends = ({ nodes, signature }: EligibleNodes): KnownBackends => ({
  nodes,
  slices: [],
  signature,
  hasNoNodes: nodes.length === 0,
});

/** Backends of a load balancer that sends to endpoints. Nodes are included for existing target groups. */
export const endpointBackends = ({ nodes }: EligibleNodes, slices: readonly EndpointSlice[]): KnownBackends => ({
  nodes,
  slices,
  signature: JSON.stringify(slices.map(relevant).toSorted()),
  hasNoNodes: false,
});

/** The fields of a slice that affect the load balancer. */
const relevant = ({ addressType, ports, endpoints }: EndpointSlice): string =>
  JSON.stringify([
    addressType,
    ports?.map((port) => [port.name ?? '', protocolOf(port), port.port ?? 0]),
    endpoints?.map((endpoint) => [isReady(endpoint), endpoint.addresses]),
  ]);
