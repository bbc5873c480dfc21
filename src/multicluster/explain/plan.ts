// Plans the effects of a new or withdrawn export with the same functions as the controller, without writing.
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Conflict } from '../merge/conflict.ts';
import { hiddenFrom, importerGroups, mergeFor } from '../merge/audience.ts';
import { listText } from '../merge/conflict.ts';
import { merge } from '../merge/merge.ts';
import type { Merged, MergeOptions } from '../merge/merged.ts';
import type { Actual, Desired, Refusal, Write } from '../project/desired.ts';
import { diff } from '../project/diff.ts';
import { project } from '../project/project.ts';
import type { ClusterExport, MemberFacts, ServiceKey } from '../record.ts';
import { mcsApis, textOf } from '../record.ts';
import type { VipState } from '../vip/allocator.ts';
import type { Explanation } from './explain.ts';
import { conflictLines, explain, viewText } from './explain.ts';
import { columns } from '../../api/text.ts';

/** A member, its objects of the service, and the address that it would allocate. */
export interface PlanMember {
  readonly facts: MemberFacts;
  readonly actual: Actual;
  /** From the allocator of the member, for the families of the merged service. */
  readonly vipFor: (merged: Merged) => VipState;
}

export interface PlanInput {
  /** The current records. */
  readonly before: readonly ClusterExport[];
  /** The records after the change. */
  readonly after: readonly ClusterExport[];
  readonly members: readonly PlanMember[];
  /** Members that have not been read: their contributions are kept. Default none. */
  readonly unknownClusters?: ReadonlySet<string>;
  readonly options?: MergeOptions;
}

/** The effects in one member. */
export interface ImporterPlan {
  readonly cluster: string;
  readonly isReachable: boolean;
  /** The addresses of the service; none if it is headless, refused or not imported. */
  readonly ips: readonly string[];
  readonly refusals: readonly Refusal[];
  readonly writes: { readonly create: number; readonly update: number; readonly delete: number };
  /** The number of slices afterwards. */
  readonly slices: number;
  /** The exporting clusters whose audience does not include it. */
  readonly hiddenFrom: readonly string[];
}

/** The plan of a change of exports. */
export interface ExportPlan extends ServiceKey {
  readonly before: Explanation;
  readonly after: Explanation;
  /** Conflicts that the change would cause, and those it would resolve. */
  readonly newConflicts: readonly Conflict[];
  readonly solvedConflicts: readonly Conflict[];
  readonly importers: readonly ImporterPlan[];
}

/** Records with one export added, or changed. */
export const withExport = (records: readonly ClusterExport[], added: ClusterExport): readonly ClusterExport[] => [
  ...records.filter(({ cluster }) => cluster !== added.cluster),
  added,
];

/** Records without the export of one cluster. */
export const withoutExport = (records: readonly ClusterExport[], cluster: string): readonly ClusterExport[] =>
  records.filter((record) => record.cluster !== cluster);

/** A record of an export that does not exist yet; `now` is its creation time. */
export const hypotheticalExport = (
  key: ServiceKey,
  {
    cluster,
    now,
    annotations = {},
    ...source
  }: Pick<ClusterExport, 'cluster' | 'service' | 'slices' | 'region'> & {
    readonly now: string;
    /** The annotations of the export. */
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  },
): ClusterExport => ({
  cluster,
  namespace: key.namespace,
  name: key.name,
  ...source,
  serviceExport: { metadata: { ...key, creationTimestamp: now, annotations }, spec: {} },
});

/** Plans a change of exports. */
export function plan(key: ServiceKey, input: PlanInput): ExportPlan {
  const { before, after, members, unknownClusters = new Set(), options = {} } = input;
  const old = merge(key, before, options);
  const merged = merge(key, after, { ...options, incumbents: options.incumbents ?? old.order });
  const facts = members.map((member) => member.facts);
  const [explainedBefore, explainedAfter] = [old, merged].map((each) =>
    explain(
      each,
      importerGroups(facts, (importer) => mergeFor(each, importer, options)),
    ),
  );
  if (explainedBefore === undefined || explainedAfter === undefined)
    throw new Error('bug: two merges have two results');
  const idsBefore = new Set(explainedBefore.conflicts.map(idOf));
  const idsAfter = new Set(explainedAfter.conflicts.map(idOf));
  return {
    namespace: key.namespace,
    name: key.name,
    before: explainedBefore,
    after: explainedAfter,
    newConflicts: explainedAfter.conflicts.filter((conflict) => !idsBefore.has(idOf(conflict))),
    solvedConflicts: explainedBefore.conflicts.filter((conflict) => !idsAfter.has(idOf(conflict))),
    importers: members.map((member) => ({
      ...importerPlan(mergeFor(merged, member.facts, options), member, unknownClusters),
      hiddenFrom: hiddenFrom(merged, member.facts).map(({ cluster }) => cluster),
    })),
  };
}

const idOf = ({ field, rule }: Conflict): string => `${field} ${rule}`;

function importerPlan(
  merged: Merged,
  { facts, actual, vipFor }: PlanMember,
  unknownClusters: ReadonlySet<string>,
): Omit<ImporterPlan, 'hiddenFrom'> {
  const target = { member: facts, vip: vipFor(merged), unknownClusters };
  const writes: Write[] = [];
  let current = actual;
  // Step by step, as the controller does it: slices need imports, and these may need a derived Service.
  for (let step = 0; step < 4; step++) {
    const desired = project(merged, { ...target, actual: current });
    const difference = diff(desired, current, { now: '' });
    writes.push(...difference.writes.filter(({ verb }) => verb !== 'updateStatus'));
    if (!difference.isPartial || step === 3) return summary(facts, desired, writes);
    current = afterWrites(current, desired, difference.writes);
  }
  throw new Error('bug: a plan has four steps');
}

function summary(facts: MemberFacts, desired: Desired, writes: readonly Write[]): Omit<ImporterPlan, 'hiddenFrom'> {
  const count = (wanted: Write['verb']): number => writes.filter(({ verb }) => verb === wanted).length;
  const { serviceImport, importedService, slices } = desired;
  const { ips } = serviceImport?.spec ?? {};
  const { ip } = importedService?.spec ?? {};
  return {
    cluster: facts.id,
    isReachable: facts.isConnected,
    ips: ips ?? (ip === undefined ? [] : [ip]),
    refusals: desired.refusals,
    writes: { create: count('create'), update: count('update'), delete: count('delete') },
    slices: slices === 'later' ? 0 : slices.length,
  };
}

const allocatedLater = 'allocated when written';

/** The objects of a member after the writes: with UIDs, and a derived Service with an address. */
function afterWrites(actual: Actual, desired: Desired, writes: readonly Write[]): Actual {
  const writtenNames = new Set(writes.map(({ object }) => object.metadata.name));
  const { importedService, serviceImport, derivedService, slices } = desired;
  return {
    importedService: importedService && withUid(importedService, actual.importedService),
    serviceImport: serviceImport && { ...actual.serviceImport, ...withUid(serviceImport, actual.serviceImport) },
    derivedService:
      derivedService && withAddress(withUid(derivedService, actual.derivedService), actual.derivedService),
    slices: [
      ...actual.slices.filter(({ metadata }) => !writtenNames.has(metadata.name)),
      ...(slices === 'later' ? [] : slices.filter(({ metadata }) => writtenNames.has(metadata.name))),
    ],
  };
}

function withUid<T extends Actual['importedService'] | Actual['serviceImport'] | Service>(
  object: T & object,
  before: { readonly metadata: { readonly uid?: string } } | undefined,
): T & object {
  return { ...object, metadata: { ...object.metadata, uid: before?.metadata.uid ?? 'planned' } };
}

const withAddress = (service: Service, before: Service | undefined): Service => ({
  ...service,
  spec: { ...service.spec, clusterIPs: before?.spec.clusterIPs ?? [allocatedLater] },
});

/** Why the new export would be invalid; undefined: it would be valid, or none is planned. */
export function invalidReason({ before, after }: ExportPlan): string | undefined {
  const known = new Set(before.exporters.map(({ cluster }) => cluster));
  return after.exporters.find(
    ({ cluster, state, reason }) => (state === 'invalid' || reason === 'InvalidAudience') && !known.has(cluster),
  )?.message;
}

/** The plan as text. */
export function planText(change: ExportPlan): string {
  const problem = invalidReason(change);
  if (problem !== undefined) return `${textOf(change)}\n  nothing would be exported: ${problem}`;
  const { before, after, newConflicts, solvedConflicts, importers } = change;
  const rows = importers.map(({ cluster, isReachable, ips, refusals, writes, slices, hiddenFrom: hidden }) => [
    cluster,
    (hidden.length > 0 && slices === 0 ? `not in the audience of ${listText(hidden)}` : undefined) ??
      refusals[0]?.message ??
      (isReachable ? (ips.length > 0 ? listText(ips) : 'no address') : 'cannot be reached now'),
    `slices: ${slices}`,
    `${writes.create} created, ${writes.update} changed, ${writes.delete} deleted`,
  ]);
  const views = mcsApis.map((api) => [
    api === 'supercluster' ? 'ImportedService' : 'ServiceImport',
    viewText(before.views[api]),
    '→',
    viewText(after.views[api]),
  ]);
  return [
    textOf(change),
    ...columns(views, '  '),
    ...columns(rows, '  '),
    ...(newConflicts.length > 0 ? ['this would cause conflicts:', ...newConflicts.flatMap(conflictLines)] : []),
    ...(solvedConflicts.length > 0
      ? [`this would resolve conflicts over ${listText(solvedConflicts.map(({ field }) => field))}`]
      : []),
  ].join('\n');
}
