import { isReady, isTerminating } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { duration } from '../../api/columns.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { Key } from '../../client/key.ts';
import type { LeaseState, Snapshot } from '../../multicluster/inspect.ts';
import {
  audienceText,
  drainText,
  droppedEvents,
  hiddenFrom,
  skewText,
  slowness,
  waitingSince,
} from '../../multicluster/inspect.ts';
import type { Member } from '../../multicluster/member/member.ts';
import type { Actual } from '../../multicluster/project/desired.ts';
import { diff } from '../../multicluster/project/diff.ts';
import { isOurSlice } from '../../multicluster/project/labels.ts';
import { columns } from '../../api/text.ts';
import type { CommandOutput } from './show.ts';

/** The state of every service in every cluster. */
export function showStatus(snapshot: Snapshot, only: Key | undefined): CommandOutput {
  const now = Date.now();
  const members = snapshot.members.map((member) => ({ member, now, leases: snapshot.leaseStates(member) }));
  const rows = (only === undefined ? snapshot.keys() : [only]).flatMap((key) =>
    members.map((cluster) => statusIn(snapshot, key, cluster)),
  );
  const lines = columns([
    ['SERVICE', 'CLUSTER', 'IP', 'FROM', 'READY', 'STATE'],
    ...rows.map(({ service, cluster, ips, from, ready, total, state }) => [
      service,
      cluster,
      ips.join(',') || '-',
      from.join(',') || '-',
      `${ready}/${total}`,
      state,
    ]),
  ]);
  const exports = [...new Set(rows.map(({ service }) => service))].flatMap((key) => incomplete(snapshot, key));
  const drains = snapshot.members
    .filter(({ options }) => options.isDraining === true)
    .map(({ id }) => `cluster ${id} drains: ${drainText(snapshot.drain(id))}`);
  const audiences = [...new Set(rows.map(({ service }) => service))].flatMap((key) => audienceLines(snapshot, key));
  return {
    value: rows,
    lines: [
      ...lines,
      ...audiences,
      ...exports,
      ...foreignSources(snapshot, rows),
      ...drains,
      ...snapshot.problems(),
      ...snapshot.members.flatMap((each) => [slowness(each) ?? [], skewText(each) ?? []].flat()),
    ],
    isWell: rows.every(({ isWell }) => isWell),
  };
}

/** A line for each export that only some clusters import. */
const audienceLines = (snapshot: Snapshot, key: Key): readonly string[] =>
  snapshot.merged(key).exporters.flatMap(({ cluster, record }) => {
    const audience = audienceText(record);
    return audience === undefined ? [] : [`${key} of ${cluster} is exported to ${audience}`];
  });

/** A member, and the states of the leases of its sources. */
interface Cluster {
  readonly member: Member;
  readonly now: number;
  readonly leases: ReadonlyMap<string, LeaseState>;
}

/**
 * The messages of exports that are not in all clusters, such as the last error of a cluster that lags, and of exports of
 * which something is ignored.
 */
function incomplete(snapshot: Snapshot, key: Key): readonly string[] {
  return snapshot.merged(key).exporters.flatMap(({ cluster, record: { superclusterExport, serviceExport } }) => {
    const conditions = [
      ...(superclusterExport?.status?.conditions ?? []),
      ...(serviceExport?.status?.conditions ?? []),
    ];
    const lacking = conditions.filter(({ type, status }) => /^(Exported|Ready)$/.test(type) && status !== 'True');
    const dropped = droppedEvents(snapshot.dropped(key).filter((each) => each.cluster === cluster));
    const messages = new Set([...lacking, ...dropped].map(({ message = '' }) => message));
    return [...messages].map((message) => `${key} of ${cluster}: ${message}`);
  });
}

/** A line about clusters that imports name and the set does not have. */
function foreignSources(snapshot: Snapshot, rows: readonly { readonly from: readonly string[] }[]): readonly string[] {
  const foreign = [...new Set(rows.flatMap(({ from }) => from))].filter((id) => snapshot.member(id) === undefined);
  if (foreign.length === 0) return [];
  const ids = foreign.toSorted().join(', ');
  return [`imports name ${ids}, which the set does not have: pass all of its clusters with --members or --kubeconfig`];
}

const behind = (writes: number, lagMs: number | undefined): string =>
  `${writes} ${writes === 1 ? 'write' : 'writes'} behind${lagMs === undefined ? '' : `, for ${duration(lagMs)}`}`;

function statusIn(snapshot: Snapshot, key: Key, { member, now, leases }: Cluster) {
  const { desired, actual } = snapshot.desired(key, member);
  const { order, conflicts } = snapshot.mergedFor(key, member);
  const hidden = hiddenFrom(snapshot.merged(key), member.facts()).map(({ cluster: id }) => id);
  const difference = diff(desired, actual, { now: '' });
  const endpoints = actual.slices.filter(isOurSlice).flatMap((slice) => slice.endpoints ?? []);
  const { serviceImport, importedService } = actual;
  const ip = importedService?.spec?.ip;
  const from = (serviceImport?.status?.clusters ?? importedService?.spec?.clusters ?? []).map(({ cluster }) => cluster);
  const pending = difference.writes.length;
  const since = waitingSince(snapshot.merged(key), difference.writes);
  const lagMs = pending === 0 ? 0 : since === undefined ? undefined : Math.max(0, now - since);
  const [problem] = [...desired.refusals, ...difference.foreignObjects].map(({ message }) => message);
  const isEmpty = order.length === 0 && from.length === 0;
  const excluded = hidden.length === 0 ? undefined : `not in the audience of ${hidden.join(', ')}`;
  const settled = isEmpty ? (excluded ?? 'nothing to import') : conflicts.length > 0 ? 'in conflict' : 'in sync';
  const known = problem ?? (pending > 0 ? behind(pending, lagMs) : settled);
  const isRead = snapshot.problemOf(member) === undefined;
  const state = isRead ? [known, ...unavailable(member.id, from, { actual, leases })].join('; ') : 'cannot be read';
  return {
    service: key,
    cluster: member.id,
    ips: serviceImport?.spec?.ips ?? (ip === undefined ? [] : [ip]),
    generation: (serviceImport ?? importedService)?.metadata.generation,
    from,
    ready: endpoints.filter(isReady).length,
    total: endpoints.length,
    pending,
    // null: a write is pending, and its source has no time for it.
    lagSeconds: lagMs === undefined ? null : lagMs / 1000,
    hiddenFrom: hidden,
    answerSeconds: member.probe.latencyMs / 1000,
    state,
    isWell: state === 'in sync' || state === excluded,
  };
}

/** The sources of an import whose lease is late or expired, and the effect on their endpoints. */
function unavailable(
  own: string,
  from: readonly string[],
  { actual, leases }: { readonly actual: Actual; readonly leases: Cluster['leases'] },
): readonly string[] {
  const others = from.filter((source) => source !== own);
  if (others.length > 0 && leases.get(own) === 'expired') return ['no controller renews the leases there'];
  return others.flatMap((source) => {
    const state = leases.get(source);
    if (state !== 'suspect' && state !== 'expired') return [];
    const slices = actual.slices.filter(
      (slice) => isOurSlice(slice) && slice.metadata.labels?.[sourceClusterLabel] === source,
    );
    const endpoints = slices.flatMap((slice) => slice.endpoints ?? []);
    const areLast = endpoints.every((endpoint) => !isReady(endpoint) && isTerminating(endpoint));
    const effect = endpoints.length === 0 ? 'deleted' : areLast ? 'used as a last resort' : 'still used';
    return [`${source} is ${state === 'suspect' ? 'late' : 'lost'}, its endpoints are ${effect}`];
  });
}
