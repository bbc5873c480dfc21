import { protocolOf } from '../../api/kinds/core/service/facts.ts';
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { EligibleNodes } from './nodes.ts';
import type { Backends } from './provider.ts';

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
