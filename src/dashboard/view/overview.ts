// What needs attention first, from all rows. The page and `fairlead status` show the same.
import { parseId } from './ids.ts';
import type { ClusterRow, EndpointCounts, Finding, ImportRow, Level, Row, ServiceRow } from './rows.ts';

/** A finding and the row it is about. */
export interface AttentionItem extends Finding {
  readonly id: string;
  readonly cluster: string;
  /** Absent: it is about the cluster. */
  readonly namespace?: string;
  readonly name?: string;
}

export interface ClusterOverview extends Pick<ClusterRow, 'cluster' | 'state' | 'server' | 'version' | 'answerMs'> {
  readonly services: number;
  readonly imports: number;
  readonly exports: number;
  readonly loadBalancers: number;
  readonly endpoints: EndpointCounts;
}

export interface Overview {
  readonly clusters: readonly ClusterOverview[];
  /** Errors first, then warnings; within a level by cluster and name. */
  readonly attention: readonly AttentionItem[];
  /** Level → number of findings. */
  readonly findings: Readonly<Record<Level, number>>;
}

/** What is wrong in the same way with one name in several clusters. */
export interface AttentionGroup extends AttentionItem {
  /** All clusters with the problem; `cluster` is the first. */
  readonly clusters: readonly string[];
}

/** Joins items that differ only in their cluster, such as a conflict that every exporter reports; in the order of the first ones. */
export function groupAttention(items: readonly AttentionItem[]): readonly AttentionGroup[] {
  const groups = Map.groupBy(items, ({ id, namespace, name, level, reason, text }) =>
    // An import is listed apart from the Service of its name.
    JSON.stringify(name === undefined ? id : [parseId(id).kind, namespace, name, level, reason, text]),
  );
  return [...groups.values()].flatMap((group) =>
    group.slice(0, 1).map((first) => ({ ...first, clusters: group.map(({ cluster }) => cluster) })),
  );
}

const urgency: Readonly<Record<Level, number>> = { error: 0, warning: 1, info: 2 };

const none: EndpointCounts = { ready: 0, notReady: 0, terminating: 0 };

/** The sum of counts of endpoints. */
const sumOf = (counts: readonly EndpointCounts[]): EndpointCounts =>
  counts.reduce(
    (sum, { ready, notReady, terminating }) => ({
      ready: sum.ready + ready,
      notReady: sum.notReady + notReady,
      terminating: sum.terminating + terminating,
    }),
    none,
  );

/** Summarizes the rows. */
export function overviewOf(rows: Iterable<Row>): Overview {
  const clusters = new Map<string, { row?: ClusterRow; services: ServiceRow[]; imports: ImportRow[] }>();
  const attention: AttentionItem[] = [];
  const findings = { error: 0, warning: 0, info: 0 };
  for (const row of rows) {
    let own = clusters.get(row.cluster);
    if (own === undefined) clusters.set(row.cluster, (own = { services: [], imports: [] }));
    if (row.kind === 'cluster') own.row = row;
    else if (row.kind === 'service') own.services.push(row);
    else own.imports.push(row);
    for (const finding of row.findings) {
      findings[finding.level]++;
      if (finding.level !== 'info') attention.push(itemOf(row, finding));
    }
  }
  return {
    clusters: Array.from(clusters.values(), ({ row, services, imports }) => clusterOf(row, services, imports))
      .filter((cluster) => cluster !== undefined)
      .toSorted((left, right) => compare(left.cluster, right.cluster)),
    attention: attention.toSorted(inOrder),
    findings,
  };
}

function itemOf(row: Row, finding: Finding): AttentionItem {
  const { id, cluster } = row;
  if (row.kind === 'cluster') return { ...finding, id, cluster };
  return { ...finding, id, cluster, namespace: row.namespace, name: row.name };
}

function clusterOf(
  row: ClusterRow | undefined,
  services: readonly ServiceRow[],
  imports: readonly ImportRow[],
): ClusterOverview | undefined {
  if (row === undefined) return undefined;
  const own = services.filter(({ derivedFrom }) => derivedFrom === undefined);
  const { cluster, state, server, version, answerMs } = row;
  return {
    cluster,
    state,
    server,
    ...(version === undefined ? {} : { version }),
    ...(answerMs === undefined ? {} : { answerMs }),
    services: own.length,
    imports: imports.length,
    exports: own.filter(({ exported }) => exported !== undefined).length,
    loadBalancers: own.filter(({ type }) => type === 'LoadBalancer').length,
    endpoints: sumOf(own.flatMap(({ endpoints }) => endpoints ?? [])),
  };
}

const compare = (left = '', right = ''): number => (left < right ? -1 : left > right ? 1 : 0);

const inOrder = (left: AttentionItem, right: AttentionItem): number =>
  urgency[left.level] - urgency[right.level] ||
  // A lost cluster explains most other findings.
  Number(left.name !== undefined) - Number(right.name !== undefined) ||
  compare(left.namespace, right.namespace) ||
  compare(left.name, right.name) ||
  compare(left.cluster, right.cluster);
