// Which nodes traffic is sent to. Whether they are ready is for health checks to find out (KEP-3458).
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { protocolOf } from '../../api/kinds/core/service/facts.ts';
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Backends } from './provider.ts';

const exclusionLabel = 'node.kubernetes.io/exclude-from-external-load-balancers';
const scalerTaint = 'ToBeDeletedByClusterAutoscaler';
const falseWords = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

/** A label that cannot be read excludes: its author meant something by it. */
function isExcluded({ metadata }: Node): boolean {
  const value = metadata.labels?.[exclusionLabel];
  return value !== undefined && !falseWords.has(value);
}

/** The nodes that load balancers send to. */
export interface EligibleNodes {
  /** By name. */
  readonly nodes: readonly Node[];
  /** What load balancers know of them; the same text means that there is nothing to tell them. */
  readonly signature: string;
}

/** Of all nodes, those that load balancers send to. */
export function eligibleNodes(all: readonly Node[]): EligibleNodes {
  const nodes = all
    .filter(
      (node) =>
        node.metadata.deletionTimestamp === undefined &&
        !isExcluded(node) &&
        node.spec.taints?.some(({ key }) => key === scalerTaint) !== true,
    )
    .toSorted((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
  const signature = JSON.stringify(nodes.map(({ metadata, spec }) => [metadata.name, spec.providerID ?? '']));
  return { nodes, signature };
}

/** Whether a change of a node matters: not its readiness, and not that it is about to be scaled away. */
export const affectsLoadBalancers = (node: Node, old: Node): boolean =>
  isExcluded(node) !== isExcluded(old) ||
  (node.spec.providerID ?? '') !== (old.spec.providerID ?? '') ||
  node.metadata.uid !== old.metadata.uid;

/** Backends, and what a load balancer is told of them. */
export interface KnownBackends extends Backends {
  /** The same text means that there is nothing to tell. */
  readonly signature: string;
  /** A load balancer that sends to nodes has none to send to. */
  readonly hasNoNodes: boolean;
}

/** Those of a load balancer that sends to nodes. */
export const nodeBackends = ({ nodes, signature }: EligibleNodes): KnownBackends => ({
  nodes,
  slices: [],
  signature,
  hasNoNodes: nodes.length === 0,
});

/** Those of a load balancer that sends to endpoints; nodes are for what it had before. */
export const endpointBackends = ({ nodes }: EligibleNodes, slices: readonly EndpointSlice[]): KnownBackends => ({
  nodes,
  slices,
  signature: JSON.stringify(slices.map(relevant).toSorted()),
  hasNoNodes: false,
});

/** Where, and whether: why somebody is not ready, and on which node, does not matter. */
const relevant = ({ addressType, ports, endpoints }: EndpointSlice): string =>
  JSON.stringify([
    addressType,
    ports?.map((port) => [port.name ?? '', protocolOf(port), port.port ?? 0]),
    endpoints?.map((endpoint) => [isReady(endpoint), endpoint.addresses]),
  ]);
