// The service as each cluster imports it, where exports have an audience.
import type { Audience, AudienceMember } from '../../api/kinds/multicluster/audience.ts';
import { audienceAnnotation, audienceIncludes, parseAudience } from '../../api/kinds/multicluster/audience.ts';
import type { ClusterExport } from '../record.ts';
import { exportsOf, isDeleting } from '../record.ts';
import { canonicalText } from './conflict.ts';
import { merge } from './merge.ts';
import type { Exporter, Merged, MergeOptions } from './merged.ts';

/** The audiences of a cluster's exports, one for each export that has one; a member has to be in all of them. */
function audiencesOf(record: ClusterExport): readonly Audience[] {
  const known = parsed.get(record);
  if (known !== undefined) return known;
  const audiences = parsedFrom(record);
  parsed.set(record, audiences);
  return audiences;
}

/** Record → its audiences, which every importing cluster is compared with. */
const parsed = new WeakMap<ClusterExport, readonly Audience[]>();

function parsedFrom(record: ClusterExport): readonly Audience[] {
  const all = exportsOf(record);
  const current = all.filter((each) => !isDeleting(each));
  return (current.length > 0 ? current : all).flatMap(({ metadata: { annotations = {} } }) => {
    const text = annotations[audienceAnnotation];
    return text === undefined ? [] : [parseAudience(text)];
  });
}

/** Whether a cluster imports what another one exports. A cluster always imports its own exports. */
export const isInAudience = (
  { cluster, record }: Pick<Exporter, 'cluster' | 'record'>,
  importer: AudienceMember,
): boolean => cluster === importer.id || audiencesOf(record).every((audience) => audienceIncludes(audience, importer));

/** The audience of a cluster's exports as text; undefined: all clusters. */
export function audienceText(record: ClusterExport): string | undefined {
  const audiences = audiencesOf(record);
  return audiences.length === 0 ? undefined : [...new Set(audiences.map(({ text }) => text))].join(' and ');
}

/** Why the audience of an export is invalid, so that no other cluster imports it; undefined: it is valid. */
export function audienceProblem(record: ClusterExport): string | undefined {
  const problem = audiencesOf(record).find((audience) => audience.problem !== undefined)?.problem;
  return problem && `no other cluster imports the service: annotation ${audienceAnnotation} is invalid: ${problem}`;
}

/** The ids in the audience of an export that the set does not have. */
export const unknownIn = (record: ClusterExport, known: ReadonlySet<string>): readonly string[] => [
  ...new Set(audiencesOf(record).flatMap(({ ids }) => ids.filter((id) => !known.has(id)))),
];

/** The exporters whose audience does not include a cluster. */
export const hiddenFrom = ({ exporters }: Merged, importer: AudienceMember): readonly Exporter[] =>
  exporters.filter((exporter) => !isInAudience(exporter, importer));

/**
 * The merge of the exports whose audience includes a cluster, in the same order of precedence. Exports that no cluster imports
 * together cannot conflict. The same object if the audiences include the cluster.
 */
export function mergeFor(merged: Merged, importer: AudienceMember, options: MergeOptions = {}): Merged {
  const hidden = new Set(hiddenFrom(merged, importer));
  if (hidden.size === 0) return merged;
  const records = merged.exporters.filter((exporter) => !hidden.has(exporter)).map(({ record }) => record);
  return merge(merged, records, { ...options, incumbents: merged.order });
}

/** The clusters that import the same exports, and the merge of these. */
export interface ImporterGroup {
  readonly importers: readonly string[];
  readonly merged: Merged;
}

/** Groups clusters by the exports that they import. `of` computes the merge for one cluster. */
export function importerGroups<T extends AudienceMember>(
  importers: readonly T[],
  of: (importer: T) => Merged,
): readonly ImporterGroup[] {
  const groups = new Map<string, { importers: string[]; merged: Merged }>();
  for (const importer of importers) {
    const merged = of(importer);
    const key = merged.exporters.map(({ cluster }) => cluster).join();
    const group = groups.get(key) ?? { importers: [], merged };
    group.importers.push(importer.id);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** The conflicts of all groups. */
export const conflictsIn = (groups: readonly ImporterGroup[]): Merged['conflicts'] => [
  ...new Map(groups.flatMap(({ merged }) => merged.conflicts).map((each) => [canonicalText(each), each])).values(),
];

/** A service as one exporter sees it: with the conflicts of all clusters that import its exports. */
export function seenByExporter(merged: Merged, cluster: string, groups: readonly ImporterGroup[]): Merged {
  const own = groups.filter(({ merged: { exporters } }) => exporters.some((each) => each.cluster === cluster));
  const [first] = own;
  if (first === undefined) return merged;
  if (own.length === 1) return { ...merged, ...pick(first.merged) };
  const withdrawn = own.filter(({ merged: { views, order } }) => order.length > 0 && views.supercluster === undefined);
  return {
    ...merged,
    conflicts: conflictsIn(own),
    quarantined: [...new Set(own.flatMap((group) => group.merged.quarantined))],
    views: {
      ...first.merged.views,
      supercluster: withdrawn.length > 0 ? undefined : first.merged.views.supercluster,
    },
    ...(withdrawn.length < own.length ? { withdrawnFrom: withdrawn.flatMap(({ importers }) => importers) } : {}),
  };
}

const pick = ({ conflicts, quarantined, views }: Merged): Pick<Merged, 'conflicts' | 'quarantined' | 'views'> => ({
  conflicts,
  quarantined,
  views,
});
