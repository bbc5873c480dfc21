// A merged service → its claim.
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
  const hasTargets = ({ targets }: ClusterTargets): boolean => targets.length > 0;
  const clusters = merged.clusters.filter(({ cluster }) => present.has(cluster));
  if (!clusters.some(hasTargets) && (clusters.length === 0 || merged.clusters.some(hasTargets)))
    return { ...builder.claim(), isKept: true };
  const exposure = {
    ...targetsOf(clusters.flatMap(({ targets }) => targets)),
    ports: clusters.flatMap(({ ports }) => ports),
  };
  for (const name of builder.hostnames(publication.hostnames))
    builder.addExposure(name, exposure, {
      reason: 'Pending',
      message: 'no exporting cluster has a load balancer address',
    });
  return builder.claim();
}
