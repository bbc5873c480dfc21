import { Resolver } from 'node:dns/promises';
import { timestamp } from '../../api/timestamp.ts';
import type { Key } from '../../client/key.ts';
import { nameFor } from '../../client/key.ts';
import type { DnsAnswer, Snapshot } from '../../multicluster/inspect.ts';
import {
  droppedEvents,
  explain,
  explanationText,
  hiddenFrom,
  planChange,
  planText,
  invalidReason,
  why,
  whyText,
} from '../../multicluster/inspect.ts';
import type { McsApi } from '../../multicluster/record.ts';
import type { Member } from '../../multicluster/member/member.ts';
import { FatalError, UsageError } from '../errors.ts';

/** The output of a command. */
export interface CommandOutput {
  /** For `-o json` and `-o yaml`. */
  readonly value: unknown;
  /** For people. */
  readonly lines: readonly string[];
  /** Whether nothing is wrong with what was inspected. */
  readonly isWell: boolean;
}

const keyOf = (key: Key): { readonly namespace: string; readonly name: string } => {
  const { namespace = '', name } = nameFor(key);
  return { namespace, name };
};

/** Explains a service: exporters, views and conflicts. */
export function showExplanation(snapshot: Snapshot, key: Key): CommandOutput {
  const explanation = explain(snapshot.merged(key), snapshot.groups(key));
  const unread = snapshot.problems();
  const leftOut = droppedEvents(snapshot.dropped(key)).map(({ message }) => message);
  return {
    value: explanation,
    lines: [...explanationText(explanation, unread.length > 0).split('\n'), ...leftOut, ...unread],
    isWell: explanation.conflicts.length === 0,
  };
}

/** Plans that a cluster exports a service, or withdraws its export. */
export function showPlan(
  snapshot: Snapshot,
  key: Key,
  change: { readonly verb: 'export' | 'unexport'; readonly cluster: string; readonly audience?: string | undefined },
): CommandOutput {
  const { conflictPolicy, members, rules } = snapshot;
  const member = memberOf(snapshot, change.cluster);
  const problem = snapshot.problemOf(member);
  if (problem !== undefined) throw new FatalError(`cannot plan an export: ${problem}`);
  const planned = planChange(
    key,
    { verb: change.verb, member, audience: change.audience },
    { merged: snapshot.merged(key), members, conflictPolicy, rules, now: timestamp(Date.now()) },
  );
  return {
    value: planned,
    lines: [...planText(planned).split('\n'), ...snapshot.problems()],
    isWell: planned.newConflicts.length === 0 && invalidReason(planned) === undefined,
  };
}

function memberOf(snapshot: Snapshot, id: string): Member {
  const member = snapshot.member(id);
  if (member !== undefined) return member;
  throw new UsageError(
    `there is no cluster "${id}" in the set: it has ${snapshot.members.map((each) => each.id).join(', ')}`,
  );
}

export interface WhyQuestion {
  /** The cluster to explain for; undefined: the first one in which a step is broken, else the first one. */
  readonly from?: string | undefined;
  readonly api: McsApi;
  /** Cluster → its DNS server, as `address:port`. */
  readonly dnsOf: (cluster: string) => string | undefined;
}

/** Why a service is missing in a cluster. */
export async function showWhy(snapshot: Snapshot, key: Key, { from, api, dnsOf }: WhyQuestion): Promise<CommandOutput> {
  const readable = snapshot.members.filter((member) => snapshot.problemOf(member) === undefined);
  const candidates = readable.length > 0 ? readable : snapshot.members;
  const members = from === undefined ? candidates : [memberOf(snapshot, from)];
  const walks = await Promise.all(
    members.map(async (member) => {
      const dns = dnsOf(member.id);
      return why({
        merged: snapshot.mergedFor(key, member),
        hidden: hiddenFrom(snapshot.merged(key), member.facts()),
        api,
        from: member.facts(),
        members: snapshot.members.map((each) => each.facts()),
        ...snapshot.desired(key, member),
        leases: snapshot.leaseStates(member),
        dropped: snapshot.dropped(key),
        dns: dns === undefined ? undefined : await resolve(key, api, dns),
      });
    }),
  );
  const reasons = walks.find(({ broken }) => broken !== undefined) ?? walks[0];
  if (reasons === undefined) throw new FatalError('the set has no members');
  const chosen = from === undefined ? [`checking cluster ${reasons.from}; pass --from ID for another one`] : [];
  return {
    value: reasons,
    lines: [...chosen, ...whyText(reasons).split('\n')],
    isWell: reasons.broken === undefined,
  };
}

async function resolve(key: Key, api: McsApi, server: string): Promise<DnsAnswer> {
  const { namespace, name } = keyOf(key);
  const question = `${name}.${namespace}.svc.${api}.local`;
  const resolver = new Resolver({ timeout: 1000, tries: 2 });
  resolver.setServers([server]);
  const ask = (family: 4 | 6): Promise<readonly string[]> =>
    (family === 4 ? resolver.resolve4(question) : resolver.resolve6(question)).catch(() => []);
  return { name: question, addresses: (await Promise.all([ask(4), ask(6)])).flat() };
}
