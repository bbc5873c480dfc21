import { Resolver } from 'node:dns/promises';
import { messageOf } from '../../api/error-message.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Key } from '../../client/key.ts';
import { nameFor } from '../../client/key.ts';
import { explain, explanationText } from '../../multicluster/explain/explain.ts';
import { leaseStates } from '../../multicluster/explain/lease-states.ts';
import { planText, vainReason } from '../../multicluster/explain/plan.ts';
import { planChange } from '../../multicluster/explain/plan-change.ts';
import type { DnsAnswer } from '../../multicluster/explain/why.ts';
import { why, whyText } from '../../multicluster/explain/why.ts';
import { leasesIn } from '../../multicluster/lease/renewer.ts';
import type { Member } from '../../multicluster/member/member.ts';
import type { Shape } from '../../multicluster/record.ts';
import { FatalError } from '../errors.ts';
import type { Snapshot } from './snapshot.ts';

/** A command is not interrupted but by its end. */
const never = new AbortController().signal;

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
export const unreadLines = ({ members }: Snapshot): readonly string[] =>
  members.filter(({ isReady }) => !isReady).map(unreadLine);

const unreadLine = ({ id, probe }: Member): string =>
  `cluster ${id} cannot be read: ${messageOf(probe.error ?? 'it does not answer')}`;

/** Who exports a service, what is made of it, and every conflict. */
export function showExplanation(snapshot: Snapshot, key: Key): Shown {
  const explanation = explain(snapshot.merged(key));
  const unread = unreadLines(snapshot);
  return {
    value: explanation,
    lines: [...explanationText(explanation, unread.length > 0).split('\n'), ...unread],
    isWell: explanation.conflicts.length === 0,
  };
}

/** What would happen if a cluster exported a service, or no longer did. */
export function showPlan(
  snapshot: Snapshot,
  key: Key,
  change: { readonly verb: 'export' | 'unexport'; readonly cluster: string },
): Shown {
  const { seedPolicy, members, rules } = snapshot;
  const member = snapshot.member(change.cluster);
  if (!member.isReady) throw new FatalError(`${unreadLine(member)}: what it would export is not known`);
  const planned = planChange(
    key,
    { verb: change.verb, member },
    { merged: snapshot.merged(key), members, seedPolicy, rules, now: timestamp(Date.now()) },
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
    leases: member.isReady ? leaseStates(await leasesIn(member, never), Date.now()) : new Map(),
    dns: dns === undefined ? undefined : await resolve(key, shape, dns),
  });
  return { value: reasons, lines: whyText(reasons).split('\n'), isWell: reasons.broken === undefined };
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
