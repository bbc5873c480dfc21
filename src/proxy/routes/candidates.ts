// The endpoints of slices for one port, before selection.
import { isReady, isServing, isTerminating, portNumberIn } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { IpFamily } from '../../api/addresses.ts';
import { canonicalText, parseAddress } from '../../api/addresses.ts';
import type { Protocol } from '../../api/kinds/core/service/schema.ts';
import { headlessLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { Endpoint, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';

/** An endpoint and everything that selection depends on. */
export interface Candidate {
  readonly address: string;
  readonly port: number;
  readonly nodeName: string | undefined;
  readonly ready: boolean;
  /** Whether it still serves; only relevant while it is terminating. */
  readonly serving: boolean;
  readonly terminating: boolean;
  /** The cluster its slice comes from; undefined: this one. */
  readonly cluster: string | undefined;
  readonly endpoint: Endpoint;
  readonly slice: EndpointSlice;
}

/** The port to look for in slices. */
export interface Wanted {
  readonly family: IpFamily;
  /** The name of the port, empty if it has none; slices use the same. */
  readonly portName: string;
  readonly protocol: Protocol;
  /** Clusters whose endpoints all count as ready (MCS-134). */
  readonly publishNotReady?: ReadonlySet<string>;
}

/** The endpoints for one port and family. Of duplicates in several slices, the most useful one counts. */
export function candidatesIn(slices: readonly EndpointSlice[], wanted: Wanted): readonly Candidate[] {
  const found = new Map<string, Candidate>();
  for (const slice of slices) {
    if (slice.addressType !== wanted.family || slice.metadata.labels?.[headlessLabel] !== undefined) continue;
    const port = portNumberIn(slice, { name: wanted.portName, protocol: wanted.protocol });
    if (port === undefined) continue;
    for (const endpoint of slice.endpoints ?? []) {
      const candidate = candidateOf(endpoint, { slice, port, wanted });
      if (candidate === undefined) continue;
      const key = `${candidate.address} ${port}`;
      const other = found.get(key);
      if (other === undefined || usefulness(candidate) > usefulness(other)) found.set(key, candidate);
    }
  }
  return [...found.values()];
}

function candidateOf(
  endpoint: Endpoint,
  { slice, port, wanted }: { readonly slice: EndpointSlice; readonly port: number; readonly wanted: Wanted },
): Candidate | undefined {
  // All addresses of an endpoint are equivalent: as in Kubernetes, the first is used.
  const text = endpoint.addresses?.[0] ?? '';
  const parsed = parseAddress(text);
  if (parsed?.family !== wanted.family) return undefined;
  const cluster = slice.metadata.labels?.[sourceClusterLabel];
  const isPublished = cluster !== undefined && (wanted.publishNotReady?.has(cluster) ?? false);
  return {
    address: canonicalText(text, parsed),
    port,
    nodeName: endpoint.nodeName,
    ready: isReady(endpoint) || isPublished,
    serving: isServing(endpoint),
    terminating: isTerminating(endpoint),
    cluster,
    endpoint,
    slice,
  };
}

/** Ready is best, then terminating and serving. */
const usefulness = (candidate: Candidate): number => (candidate.ready ? 2 : isFallback(candidate) ? 1 : 0);

/** Whether it is used if no endpoint is ready (KEP-1669). */
export const isFallback = ({ serving, terminating }: Candidate): boolean => serving && terminating;
