// Exports of all clusters → one service, its conflicts, and what each API shape shows of it.
import type { ExportRecord, ServiceKey } from '../record.ts';
import { textOf } from '../record.ts';
import { canonicalText } from './canonical.ts';
import type { Component } from './component.ts';
import { componentOf, verdictOn } from './component.ts';
import type { Conflict } from './conflict.ts';
import type { Exporter, Merged, MergeOptions, View } from './merged.ts';
import { havePortsInCommon, portConflicts, unionOfPorts } from './ports.ts';
import { commonFamilies, globalConflicts, sharedConflicts } from './settings.ts';

/** Merges the records of one service. The order of the records does not matter, nor that one is there twice. */
export function merge(key: ServiceKey, records: readonly ExportRecord[], options: MergeOptions = {}): Merged {
  const { incumbents = [], seedPolicy = 'Withdraw' } = options;
  const judged = onePerCluster(key, records).map((record): Exporter => ({
    cluster: record.cluster,
    record,
    verdict: verdictOn(record),
  }));
  const components = judged
    .flatMap(({ record, verdict }) =>
      verdict.state === 'valid' && record.service !== undefined ? [componentOf(record, record.service)] : [],
    )
    .toSorted(byPrecedence(incumbents));
  const order = components.map(({ cluster }) => cluster);
  const conflicts = conflictsAmong(components);
  const isSeedConflict = conflicts.some(({ shapes }) => shapes.includes('seed'));
  const admitted = seedPolicy === 'Quarantine' ? withoutConflicting(components) : components;
  return {
    namespace: key.namespace,
    name: key.name,
    exporters: exportersInOrder(judged, order),
    order,
    conflicts,
    quarantined: components.filter((component) => !admitted.includes(component)).map(({ cluster }) => cluster),
    views: {
      seed: isSeedConflict && seedPolicy === 'Withdraw' ? undefined : viewOf(admitted),
      current: viewOf(components),
    },
  };
}

/** What comes of merging what two merges began with: the same as one merge of all their records. */
export const combine = (left: Merged, right: Merged, options: MergeOptions = {}): Merged =>
  merge(
    left,
    [...left.exporters, ...right.exporters].map(({ record }) => record),
    options,
  );

/** Everything in which the clusters disagree, not just what is found first. */
function conflictsAmong(components: readonly Component[]): readonly Conflict[] {
  if (components.length < 2) return [];
  return [...globalConflicts(components), ...portConflicts(components), ...sharedConflicts(components)];
}

/** Who came first stays first; then the older export; exports of one second by the id of their cluster. */
const byPrecedence =
  (incumbents: readonly string[]) =>
  (left: Component, right: Component): number =>
    rankIn(incumbents, left) - rankIn(incumbents, right) ||
    compare(left.since, right.since) ||
    compare(left.cluster, right.cluster);

function rankIn(incumbents: readonly string[], { cluster }: Component): number {
  const rank = incumbents.indexOf(cluster);
  return rank === -1 ? incumbents.length : rank;
}

const compare = (left: string, right: string): number => (left === right ? 0 : left < right ? -1 : 1);

/** Each cluster in turn is admitted if it agrees with all that were before it (sheet 5.7, T6). */
function withoutConflicting(components: readonly Component[]): readonly Component[] {
  const admitted: Component[] = [];
  for (const component of components) {
    if (admitted.every((other) => canBeOne(other, component))) admitted.push(component);
  }
  return admitted;
}

/** The rules of the seed, for two clusters. */
const canBeOne = (left: Component, right: Component): boolean =>
  left.type === right.type && left.families[0] === right.families[0] && havePortsInCommon(left, right);

function viewOf(components: readonly Component[]): View | undefined {
  const [first] = components;
  if (first === undefined) return undefined;
  const { sessionAffinity, sessionAffinityConfig } = first.settings;
  const exported = components.find((component) => component.exported !== undefined)?.exported;
  return {
    type: first.type,
    ports: unionOfPorts(components),
    families: commonFamilies(components),
    clusters: components.map(({ settings }) => settings),
    sessionAffinity,
    sessionAffinityConfig,
    internalTrafficPolicy: first.internalTrafficPolicy,
    trafficDistribution: first.trafficDistribution,
    labels: exported?.labels ?? {},
    annotations: exported?.annotations ?? {},
  };
}

function exportersInOrder(judged: readonly Exporter[], order: readonly string[]): readonly Exporter[] {
  const byCluster = new Map(judged.map((exporter) => [exporter.cluster, exporter]));
  const counting = order.flatMap((cluster) => byCluster.get(cluster) ?? []);
  const others = judged.filter(({ verdict }) => verdict.state !== 'valid');
  return [...counting, ...others];
}

/** One record a cluster, by the id of the cluster. A cluster that was read twice counts as it was read last. */
function onePerCluster(key: ServiceKey, records: readonly ExportRecord[]): readonly ExportRecord[] {
  const byCluster = new Map<string, ExportRecord>();
  for (const record of records) {
    if (textOf(record) !== textOf(key)) {
      throw new Error(`bug: a record of ${textOf(record)} was given to the merge of ${textOf(key)}`);
    }
    const other = byCluster.get(record.cluster);
    byCluster.set(record.cluster, other === undefined ? record : laterOf(other, record));
  }
  return [...byCluster.values()].toSorted((left, right) => compare(left.cluster, right.cluster));
}

/** Both are of one server, whose revisions can be compared. */
function laterOf(left: ExportRecord, right: ExportRecord): ExportRecord {
  if (left === right) return left;
  const difference = revisionOf(left) - revisionOf(right);
  if (difference !== 0) return difference > 0 ? left : right;
  return canonicalText(left) >= canonicalText(right) ? left : right;
}

function revisionOf({ seedExport, currentExport, service, slices }: ExportRecord): number {
  const revisions = [seedExport, currentExport, service, ...slices].map((object) =>
    Number(object?.metadata.resourceVersion ?? 0),
  );
  return Math.max(...revisions.map((revision) => (Number.isNaN(revision) ? 0 : revision)));
}
