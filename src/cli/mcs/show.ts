import { Resolver } from 'node:dns/promises';
import { duration } from '../../api/columns.ts';
import { leaseKind } from '../../api/kinds/coordination/lease/kind.ts';
import { messageOf } from '../../api/thrown.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Key } from '../../client/key.ts';
import { nameFor } from '../../client/key.ts';
import { explain, explanationText } from '../../multicluster/explain/explain.ts';
import { waitingSince } from '../../multicluster/explain/lag.ts';
import { planText, vainReason } from '../../multicluster/explain/plan.ts';
import { planChange } from '../../multicluster/explain/plan-change.ts';
import type { DnsAnswer, LeaseState } from '../../multicluster/explain/why.ts';
import { why, whyText } from '../../multicluster/explain/why.ts';
import { leaseNamespace, leaseSelector, sourceOfLease } from '../../multicluster/lease/lease.ts';
import type { Member } from '../../multicluster/member/member.ts';
import { diff } from '../../multicluster/project/diff.ts';
import { isOurSlice } from '../../multicluster/project/marks.ts';
import type { Shape } from '../../multicluster/record.ts';
import { columns } from '../output.ts';
import type { Snapshot } from './snapshot.ts';

/** What a command has to say: for programs, for people, and whether all is well. */
export interface Shown {
  readonly value: unknown;
  readonly lines: readonly string[];
  readonly isWell: boolean;
}

const keyOf = (key: Key): { readonly namespace: string; readonly name: string } => {
  const { namespace = '', name } = nameFor(key);
  return { namespace, name };
};

/** Whose exports are not in what is shown, and why. */
const unreadLines = ({ members }: Snapshot): readonly string[] =>
  members
    .filter(({ isReady }) => !isReady)
    .map(({ id, pulse }) => `cluster ${id} cannot be read: ${messageOf(pulse.error ?? 'it does not answer')}`);

/** Who exports a service, what is made of it, and every conflict. */
export function showExplanation(snapshot: Snapshot, key: Key): Shown {
  const explanation = explain(snapshot.merged(key));
  return {
    value: explanation,
    lines: [...explanationText(explanation).split('\n'), ...unreadLines(snapshot)],
    isWell: explanation.conflicts.length === 0,
  };
}

/** What would happen if a cluster exported a service, or no longer did. */
export function showPlan(
  snapshot: Snapshot,
  key: Key,
  change: { readonly verb: 'export' | 'unexport'; readonly cluster: string },
): Shown {
  const { seedPolicy, members } = snapshot;
  const planned = planChange(
    key,
    { verb: change.verb, member: snapshot.member(change.cluster) },
    { merged: snapshot.merged(key), members, seedPolicy, now: timestamp(Date.now()) },
  );
  return {
    value: planned,
    lines: [...planText(planned).split('\n'), ...unreadLines(snapshot)],
    isWell: planned.newConflicts.length === 0 && vainReason(planned) === undefined,
  };
}

export interface WhyQuestion {
  readonly from: string;
  readonly shape: Shape;
  /** The DNS server of that cluster, as `address:port`. */
  readonly dns?: string | undefined;
}

/** Why a service is missing in a cluster. */
export async function showWhy(snapshot: Snapshot, key: Key, { from, shape, dns }: WhyQuestion): Promise<Shown> {
  const member = snapshot.member(from);
  const { desired, actual } = snapshot.desired(key, member);
  const reasons = why({
    merged: snapshot.merged(key),
    shape,
    from: member.facts(),
    members: snapshot.members.map((each) => each.facts()),
    desired,
    actual,
    leases: member.isReady ? await leasesIn(member) : new Map(),
    dns: dns === undefined ? undefined : await resolve(key, shape, dns),
  });
  return { value: reasons, lines: whyText(reasons).split('\n'), isWell: reasons.broken === undefined };
}

/** By the clock of who renews, for want of anything seen before; the reaper itself never does that. */
async function leasesIn(member: Member): Promise<ReadonlyMap<string, LeaseState>> {
  const { items } = await member.client.list(leaseKind, { namespace: leaseNamespace, labelSelector: leaseSelector });
  return new Map(
    items.map((lease) => {
      const ageMs = Date.now() - Date.parse(lease.spec.renewTime ?? '');
      const durationMs = (lease.spec.leaseDurationSeconds ?? 15) * 1000;
      return [sourceOfLease(lease) ?? '', ageMs < durationMs ? 'healthy' : 'expired'];
    }),
  );
}

async function resolve(key: Key, shape: Shape, server: string): Promise<DnsAnswer> {
  const { namespace, name } = keyOf(key);
  const question = `${name}.${namespace}.svc.${shape === 'seed' ? 'supercluster' : 'clusterset'}.local`;
  const resolver = new Resolver({ timeout: 1000, tries: 2 });
  resolver.setServers([server]);
  const ask = (family: 4 | 6): Promise<readonly string[]> =>
    (family === 4 ? resolver.resolve4(question) : resolver.resolve6(question)).catch(() => []);
  return { name: question, addresses: (await Promise.all([ask(4), ask(6)])).flat() };
}

/** How every service stands in every cluster. */
export function showStatus(snapshot: Snapshot, only: Key | undefined): Shown {
  const now = Date.now();
  const rows = (only === undefined ? snapshot.keys() : [only]).flatMap((key) =>
    snapshot.members.map((member) => statusIn(snapshot, key, member, now)),
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

function statusIn(snapshot: Snapshot, key: Key, member: Member, now: number) {
  const { desired, actual } = snapshot.desired(key, member);
  const difference = diff(desired, actual, { now: '' });
  const endpoints = actual.slices.filter(isOurSlice).flatMap((slice) => slice.endpoints ?? []);
  const { serviceImport, importedService } = actual;
  const ip = importedService?.spec?.ip;
  const pending = difference.writes.length;
  const since = waitingSince(snapshot.merged(key), difference.writes);
  const lagMs = pending === 0 ? 0 : since === undefined ? undefined : Math.max(0, now - since);
  const [problem] = [...desired.refusals, ...difference.obstacles].map(({ message }) => message);
  const conflicts = snapshot.merged(key).conflicts.length;
  const state = !member.isReady
    ? 'cannot be read'
    : (problem ?? (pending > 0 ? behind(pending, lagMs) : conflicts > 0 ? 'in conflict' : 'in sync'));
  return {
    service: key,
    cluster: member.id,
    ips: serviceImport?.spec?.ips ?? (ip === undefined ? [] : [ip]),
    generation: (serviceImport ?? importedService)?.metadata.generation,
    from: (serviceImport?.status?.clusters ?? importedService?.spec?.clusters ?? []).map(({ cluster }) => cluster),
    ready: endpoints.filter(({ conditions }) => conditions.ready !== false).length,
    total: endpoints.length,
    pending,
    // null: something waits, and its source does not say since when.
    lagSeconds: lagMs === undefined ? null : lagMs / 1000,
    state,
    isWell: state === 'in sync',
  };
}
