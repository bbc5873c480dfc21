import { isReady, isTerminating } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { duration } from '../../api/columns.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { Key } from '../../client/key.ts';
import { waitingSince } from '../../multicluster/explain/lag.ts';
import { leaseStates } from '../../multicluster/explain/lease-states.ts';
import type { LeaseState } from '../../multicluster/explain/why.ts';
import { leasesIn } from '../../multicluster/lease/renewer.ts';
import type { Member } from '../../multicluster/member/member.ts';
import type { Actual } from '../../multicluster/project/desired.ts';
import { diff } from '../../multicluster/project/diff.ts';
import { isOurSlice } from '../../multicluster/project/marks.ts';
import { columns } from '../output.ts';
import type { Shown } from './show.ts';
import { unreadLines } from './show.ts';
import type { Snapshot } from './snapshot.ts';

/** How every service stands in every cluster. */
export async function showStatus(snapshot: Snapshot, only: Key | undefined): Promise<Shown> {
  const now = Date.now();
  const members = await Promise.all(
    snapshot.members.map(async (member) => ({ member, now, leases: await leaseStatesIn(member, now) })),
  );
  const rows = (only === undefined ? snapshot.keys() : [only]).flatMap((key) =>
    members.map((asked) => statusIn(snapshot, key, asked)),
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
  return {
    value: rows,
    lines: [...lines, ...exports, ...unreadLines(snapshot)],
    isWell: rows.every(({ isWell }) => isWell),
  };
}

/** A member, when it was asked, and how the leases of its sources stand there. */
interface Asked {
  readonly member: Member;
  readonly now: number;
  readonly leases: ReadonlyMap<string, LeaseState>;
}

async function leaseStatesIn(member: Member, now: number): Promise<ReadonlyMap<string, LeaseState>> {
  if (!member.isReady) return new Map();
  try {
    return leaseStates(await leasesIn(member, new AbortController().signal), now);
  } catch {
    return new Map(); // who may not read leases is told the rest
  }
}

/** What the exports of a service say that is not everywhere, such as the last answer of a cluster that lags. */
function incomplete(snapshot: Snapshot, key: Key): readonly string[] {
  return snapshot.merged(key).exporters.flatMap(({ cluster, record: { seedExport, currentExport } }) => {
    const conditions = [...(seedExport?.status?.conditions ?? []), ...(currentExport?.status?.conditions ?? [])];
    const lacking = conditions.filter(({ type, status }) => /^(Exported|Ready)$/.test(type) && status !== 'True');
    const said = new Set(lacking.map(({ message = '' }) => message));
    return [...said].map((message) => `${key} of ${cluster}: ${message}`);
  });
}

const behind = (writes: number, lagMs: number | undefined): string =>
  `${writes} ${writes === 1 ? 'write' : 'writes'} behind${lagMs === undefined ? '' : `, for ${duration(lagMs)}`}`;

function statusIn(snapshot: Snapshot, key: Key, { member, now, leases }: Asked) {
  const { desired, actual } = snapshot.desired(key, member);
  const { order, conflicts } = snapshot.merged(key);
  const difference = diff(desired, actual, { now: '' });
  const endpoints = actual.slices.filter(isOurSlice).flatMap((slice) => slice.endpoints ?? []);
  const { serviceImport, importedService } = actual;
  const ip = importedService?.spec?.ip;
  const from = (serviceImport?.status?.clusters ?? importedService?.spec?.clusters ?? []).map(({ cluster }) => cluster);
  const pending = difference.writes.length;
  const since = waitingSince(snapshot.merged(key), difference.writes);
  const lagMs = pending === 0 ? 0 : since === undefined ? undefined : Math.max(0, now - since);
  const [problem] = [...desired.refusals, ...difference.obstacles].map(({ message }) => message);
  const isEmpty = order.length === 0 && from.length === 0;
  const calm = isEmpty ? 'nothing to import' : conflicts.length > 0 ? 'in conflict' : 'in sync';
  const known = problem ?? (pending > 0 ? behind(pending, lagMs) : calm);
  const state = member.isReady ? [known, ...unheard(member.id, from, { actual, leases })].join('; ') : 'cannot be read';
  return {
    service: key,
    cluster: member.id,
    ips: serviceImport?.spec?.ips ?? (ip === undefined ? [] : [ip]),
    generation: (serviceImport ?? importedService)?.metadata.generation,
    from,
    ready: endpoints.filter(isReady).length,
    total: endpoints.length,
    pending,
    // null: something waits, and its source does not say since when.
    lagSeconds: lagMs === undefined ? null : lagMs / 1000,
    state,
    isWell: state === 'in sync',
  };
}

/** Which sources of an import are silent or lost, as the leases in its cluster say, and what has become of their endpoints. */
function unheard(
  own: string,
  from: readonly string[],
  { actual, leases }: { readonly actual: Actual; readonly leases: Asked['leases'] },
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
    const fate = endpoints.length === 0 ? 'gone' : areLast ? 'used last' : 'used still';
    return [`${source} is ${state === 'suspect' ? 'silent' : 'lost'}, its endpoints are ${fate}`];
  });
}
