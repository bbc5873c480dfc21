// A merged service → its claim.
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { ClusterTargets } from '../../api/kinds/multicluster/publication.ts';
import { parsePublication, publicationAnnotation } from '../../api/kinds/multicluster/publication.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { publicationOf } from './annotations.ts';
import type { Claim, Surroundings } from './claim.ts';
import { ClaimBuilder, targetsOf } from './claim-builder.ts';

/** The claim of an import with a public name; undefined: it has none. */
export function claimOfImport(imported: ApiObject, around: Surroundings): Claim | undefined {
  const text = imported.metadata.annotations?.[publicationAnnotation];
  const merged = text === undefined ? undefined : parsePublication(text);
  if (merged === undefined) return undefined;
  const annotations = {
    'fairlead.dev/hostname': merged.hostname,
    ...(merged.ttl && { 'fairlead.dev/ttl': merged.ttl }),
  };
  const publication = publicationOf(annotations);
  if (publication === undefined) return undefined;
  const builder = new ClaimBuilder(imported, 'serviceimport', { publication, ttl: around.ttl });
  // The reaper removes the slices of a cluster whose lease expired, and the targets of the cluster go with them. If only lost
  // clusters have targets, what is published stays: the last target must not disappear because clusters cannot be reached.
  const present = new Set(around.slices.map(({ metadata }) => metadata.labels?.[sourceClusterLabel]));
  const clusters = merged.clusters.filter(({ cluster }) => present.has(cluster));
  if (!clusters.some(hasTargets) && (clusters.length === 0 || merged.clusters.some(hasTargets)))
    return { ...builder.claim(), isKept: true };
  const used = withoutDrained(clusters, readyIn(around.slices));
  const exposure = {
    ...targetsOf(used.flatMap(({ targets }) => targets)),
    ports: used.flatMap(({ ports }) => ports),
  };
  for (const name of builder.hostnames(publication.hostnames))
    builder.addExposure(name, exposure, {
      reason: 'Pending',
      message: 'no exporting cluster has a load balancer address',
    });
  return builder.claim();
}

const hasTargets = ({ targets }: ClusterTargets): boolean => targets.length > 0;

/**
 * The clusters without those that drain, if others have targets and ready endpoints. If not, all stay: a drain never takes the
 * last target that answers away.
 */
function withoutDrained(
  clusters: readonly ClusterTargets[],
  ready: ReadonlySet<string | undefined>,
): readonly ClusterTargets[] {
  const others = clusters.filter(({ draining }) => draining === undefined);
  return others.some((each) => hasTargets(each) && ready.has(each.cluster)) ? others : clusters;
}

/** The clusters with ready endpoints. */
const readyIn = (slices: readonly EndpointSlice[]): ReadonlySet<string | undefined> =>
  new Set(
    slices.flatMap(({ metadata, endpoints }) =>
      (endpoints ?? []).some(isReady) ? metadata.labels?.[sourceClusterLabel] : [],
    ),
  );
