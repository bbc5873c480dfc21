// Merges the exports of all clusters into one service, its conflicts and one view per API.
import type { ClusterExport, ServiceKey } from '../record.ts';
import { textOf } from '../record.ts';
import type { Component } from './component.ts';
import { componentOf, verdictOf } from './component.ts';
import type { Conflict } from './conflict.ts';
import { canonicalText } from './conflict.ts';
import type { Exporter, Merged, MergeOptions, View } from './merged.ts';
import { havePortsCompatible, portConflicts, unionOfPorts } from './ports.ts';
import { publicationOf } from './publication.ts';
import { commonFamilies, globalConflicts, settingConflicts } from './settings.ts';
import { compareText } from '../../api/order.ts';

/** Merges the records of one service. The result does not depend on the order of the records or on duplicates. */
export function merge(key: ServiceKey, records: readonly ClusterExport[], options: MergeOptions = {}): Merged {
  const { incumbents = [], conflictPolicy = 'Withdraw' } = options;
  const validated = onePerCluster(key, records).map((record): Exporter => ({
    cluster: record.cluster,
    record,
    verdict: verdictOf(record),
  }));
  const valid = validated.flatMap(({ record, verdict }) =>
    verdict.state === 'valid' && record.service !== undefined ? [componentOf(record, record.service)] : [],
  );
  const components = inPrecedence(valid, incumbents);
  const order = components.map(({ cluster }) => cluster);
  const conflicts = conflictsAmong(components);
  const isSuperclusterConflict = conflicts.some(({ apis }) => apis.includes('supercluster'));
  const admitted = conflictPolicy === 'Quarantine' ? withoutConflicting(components) : components;
  return {
    namespace: key.namespace,
    name: key.name,
    exporters: exportersInOrder(validated, order),
    order,
    conflicts,
    quarantined: components.filter((component) => !admitted.includes(component)).map(({ cluster }) => cluster),
    views: {
      supercluster: isSuperclusterConflict && conflictPolicy === 'Withdraw' ? undefined : viewOf(admitted),
      clusterset: viewOf(components),
    },
  };
}

function conflictsAmong(components: readonly Component[]): readonly Conflict[] {
  if (components.length < 2) return [];
  return [...globalConflicts(components), ...portConflicts(components), ...settingConflicts(components)];
}

/**
 * Incumbents in their order, then newcomers by age. Of neighbours with equal timestamps the lesser id comes first, also
 * among incumbents: otherwise the order would depend on which export a controller happened to read first.
 */
function inPrecedence(components: readonly Component[], incumbents: readonly string[]): readonly Component[] {
  const rank = new Map(incumbents.map((cluster, index) => [cluster, index]));
  const rankOf = ({ cluster }: Component): number => rank.get(cluster) ?? incumbents.length;
  const ranked = components.toSorted(
    (left, right) =>
      rankOf(left) - rankOf(right) || compareText(left.since, right.since) || compareText(left.cluster, right.cluster),
  );
  const order: Component[] = [];
  for (const component of ranked) {
    const isBefore = (other: Component): boolean =>
      other.since !== component.since || compareText(other.cluster, component.cluster) < 0;
    order.splice(order.findLastIndex(isBefore) + 1, 0, component);
  }
  return order;
}

/** Admits clusters in order of precedence, each if it is compatible with all admitted before it. */
function withoutConflicting(components: readonly Component[]): readonly Component[] {
  const admitted: Component[] = [];
  for (const component of components) {
    if (admitted.every((other) => isCompatible(other, component))) admitted.push(component);
  }
  return admitted;
}

/** Whether two clusters can be merged under the rules of the supercluster API. */
const isCompatible = (left: Component, right: Component): boolean =>
  left.type === right.type && left.families[0] === right.families[0] && havePortsCompatible(left, right);

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
    publication: publicationOf(components),
  };
}

function exportersInOrder(validated: readonly Exporter[], order: readonly string[]): readonly Exporter[] {
  const byCluster = new Map(validated.map((exporter) => [exporter.cluster, exporter]));
  const counting = order.flatMap((cluster) => byCluster.get(cluster) ?? []);
  const others = validated.filter(({ verdict }) => verdict.state !== 'valid');
  return [...counting, ...others];
}

/** One record per cluster, sorted by cluster id; of two records of a cluster the one with the later revision. */
function onePerCluster(key: ServiceKey, records: readonly ClusterExport[]): readonly ClusterExport[] {
  const byCluster = new Map<string, ClusterExport>();
  for (const record of records) {
    if (textOf(record) !== textOf(key)) {
      throw new Error(`bug: merge of ${textOf(key)} received a record of ${textOf(record)}`);
    }
    const other = byCluster.get(record.cluster);
    byCluster.set(record.cluster, other === undefined ? record : laterOf(other, record));
  }
  return [...byCluster.values()].toSorted((left, right) => compareText(left.cluster, right.cluster));
}

/** Both records come from one server, so their revisions are comparable. */
function laterOf(left: ClusterExport, right: ClusterExport): ClusterExport {
  if (left === right) return left;
  const difference = revisionOf(left) - revisionOf(right);
  if (difference !== 0) return difference > 0 ? left : right;
  return canonicalText(left) >= canonicalText(right) ? left : right;
}

function revisionOf({ superclusterExport, serviceExport, service, slices }: ClusterExport): number {
  const revisions = [superclusterExport, serviceExport, service, ...slices].map((object) =>
    Number(object?.metadata.resourceVersion ?? 0),
  );
  return Math.max(...revisions.map((revision) => (Number.isNaN(revision) ? 0 : revision)));
}
