// Decides which endpoints of draining clusters other clusters can replace.
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Key } from '../../client/key.ts';
import type { Merged, View } from '../merge/merged.ts';
import type { MirrorRule } from './mirror.ts';
import { routedPorts } from './mirror.ts';

/** What one cluster contributes to a service in an importing cluster. */
export interface Contribution {
  readonly cluster: string;
  readonly slices: readonly EndpointSlice[];
  readonly rule: Pick<MirrorRule, 'ports' | 'keepsSrvNames' | 'publishesAll'>;
}

export interface DrainInput {
  /** The clusters that drain. */
  readonly draining: ReadonlySet<string>;
  /** Clusters that do not answer or were not read: their endpoints replace none. */
  readonly unavailable: ReadonlySet<string>;
}

/**
 * The draining clusters whose endpoints become terminating: clusters that do not drain have ready endpoints for all of their
 * ports and address families. The endpoints of the others stay as they are, so that a drain never takes the last ready ones away.
 */
export function replacedClusters(
  { views }: Pick<Merged, 'views'>,
  contributions: readonly Contribution[],
  { draining, unavailable }: DrainInput,
): ReadonlySet<string> {
  const settings = new Map(
    [views.supercluster, views.clusterset].flatMap((view) =>
      (view?.clusters ?? []).map((each) => [each.cluster, each.topologyKeys ?? []] as const),
    ),
  );
  // Endpoints that only some nodes may use do not replace others.
  const isForAll = (cluster: string): boolean => {
    const keys = settings.get(cluster) ?? [];
    return keys.length === 0 || keys.includes('*');
  };
  const replacing = contributions.filter(
    ({ cluster }) => !draining.has(cluster) && !unavailable.has(cluster) && isForAll(cluster),
  );
  const offered = new Set(replacing.flatMap(readyPorts));
  return new Set(
    contributions
      .filter((each) => draining.has(each.cluster) && readyPorts(each).every((port) => offered.has(port)))
      .map(({ cluster }) => cluster),
  );
}

/** The ports with ready endpoints, by address family. */
function readyPorts({ slices, rule }: Contribution): readonly string[] {
  return slices.flatMap(({ addressType, endpoints, ports }) => {
    const isUsed = (endpoints ?? []).some((endpoint) => rule.publishesAll || isReady(endpoint));
    if (!isUsed) return [];
    // A slice without ports is one of a headless Service without ports.
    const names = (ports ?? []).length === 0 ? [''] : routedPorts(ports ?? [], rule).map(({ name = '' }) => name);
    return names.map((name) => `${addressType} ${name}`);
  });
}

/** Marks the draining clusters in the public name of a service, so that the publisher prefers others. */
export function withDraining(merged: Merged, draining: ReadonlySet<string>): Merged {
  const mark = (view: View | undefined): View | undefined => {
    if (view?.publication === undefined) return view;
    const clusters = view.publication.clusters.map(({ draining: _before, ...each }) =>
      draining.has(each.cluster) ? { ...each, draining: true as const } : each,
    );
    return { ...view, publication: { ...view.publication, clusters } };
  };
  const { supercluster, clusterset } = merged.views;
  return { ...merged, views: { supercluster: mark(supercluster), clusterset: mark(clusterset) } };
}

/** The progress of a drain: services by what other clusters do with the endpoints of the draining one. */
export interface DrainProgress {
  /** Services that other clusters still use its ready endpoints of, because no others are ready. */
  readonly kept: readonly Key[];
  /** Services that other clusters still use its ready endpoints of, until the next write. */
  readonly pending: readonly Key[];
}

const mostNamed = 5;

/** The services of a list, the first ones by name. */
const servicesText = (keys: readonly Key[]): string =>
  keys.length <= mostNamed
    ? keys.join(', ')
    : `${keys.slice(0, mostNamed).join(', ')} and ${keys.length - mostNamed} more`;

/** The progress as a sentence about the cluster. */
export function drainText({ kept, pending }: DrainProgress): string {
  if (pending.length > 0) return `other clusters still use its endpoints of ${servicesText(pending)}`;
  if (kept.length === 0) return 'other clusters use its endpoints only if no others are ready';
  return `no other cluster has ready endpoints of ${servicesText(kept)}, so those of the draining cluster stay in use: start some in another cluster`;
}
