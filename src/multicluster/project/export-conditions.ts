// Computes the conditions of an export in each API.
import { audienceProblem } from '../merge/audience.ts';
import { clustersText, conflictsText, listText } from '../merge/conflict.ts';
import type { Exporter, Merged } from '../merge/merged.ts';
import type { McsApi } from '../record.ts';
import type { Refusal } from './desired.ts';
import type { PlannedCondition } from './conditions.ts';

/** The delivery of a service to one member. */
export interface Delivery {
  readonly cluster: string;
  /** `acknowledged`: the member has all desired objects, which are none without the namespace (MCS-109). */
  readonly state: 'acknowledged' | 'pending' | 'unreachable' | 'refused';
  /** The service has an address there, or needs none. */
  readonly hasAddress: boolean;
  /** Why the member does not import it. */
  readonly refusal?: Refusal | undefined;
  /** The error of repeatedly failing writes, or why a member that answers cannot be read, as a sentence. */
  readonly error?: string | undefined;
}

/** The conditions of an export in each API. */
export type ExportConditions = { readonly [api in McsApi]: readonly PlannedCondition[] };

/** The conditions of the exports of a cluster that is not leaving. */
export function exportConditions(
  merged: Merged,
  { cluster, verdict, record }: Exporter,
  deliveries: readonly Delivery[],
): ExportConditions {
  if (verdict.state === 'invalid') return invalidConditions(verdict.reason, verdict.message);
  const problem = audienceProblem(record);
  if (problem !== undefined) return invalidConditions('InvalidAudience', problem);
  return {
    supercluster: [
      initialized(deliveries),
      unreachable('Exported', record) ?? exported(merged, cluster, deliveries),
      conflicting(merged, 'supercluster'),
    ],
    clusterset: [valid, unreachable('Ready', record) ?? ready(deliveries), conflicting(merged, 'clusterset')],
  };
}

/** Other clusters have no address by which they reach the Service; undefined: they have. */
function unreachable(type: string, { advertised }: Exporter['record']): PlannedCondition | undefined {
  const message = advertised?.problem;
  return message === undefined ? undefined : { type, status: 'False', reason: 'NoIngressAddress', message };
}

const noConflict: PlannedCondition = {
  type: 'Conflict',
  status: 'False',
  reason: 'NoConflicts',
  message: 'all clusters agree about the service',
};

const valid: PlannedCondition = {
  type: 'Valid',
  status: 'True',
  reason: 'Valid',
  message: 'the Service can be exported',
};

/** MCS-25, MCS-93 */
const invalidConditions = (reason: string, message: string): ExportConditions => ({
  supercluster: [
    { type: 'Initialized', status: 'False', reason, message },
    { type: 'Exported', status: 'False', reason, message },
    noConflict,
  ],
  clusterset: [
    { type: 'Valid', status: 'False', reason, message },
    { type: 'Ready', status: 'False', reason: 'Failed', message },
    noConflict,
  ],
});

/** The conditions of the exports of a cluster that leaves the set, where they are not updated any more. */
export function leavingConditions(cluster: string): ExportConditions {
  const reason = 'NotAMember';
  const message = `cluster ${cluster} has left the cluster set: no cluster imports the service from here`;
  const conflict: PlannedCondition = { ...noConflict, message };
  return {
    supercluster: [
      { type: 'Initialized', status: 'False', reason, message },
      { type: 'Exported', status: 'False', reason, message },
      conflict,
    ],
    clusterset: [{ type: 'Ready', status: 'False', reason, message }, conflict],
  };
}

/** Valid, with its finalizer and reserved addresses (MCS-19); the finalizer is written before this condition. */
function initialized(deliveries: readonly Delivery[]): PlannedCondition {
  const type = 'Initialized';
  const reachable = deliveries.filter(({ state }) => state !== 'unreachable');
  const refused = reachable.flatMap(({ refusal }) =>
    refusal?.reason === 'NoAddress' || refusal?.reason === 'FamilyNotSupported' ? [refusal] : [],
  );
  const [first] = refused;
  if (first !== undefined) {
    const reason = first.reason === 'NoAddress' ? 'NoFreeAddress' : 'IPFamilyNotSupported';
    return { type, status: 'False', reason, message: refused.map(({ message }) => message).join('; ') };
  }
  const waiting = reachable.filter(({ hasAddress }) => !hasAddress).map(({ cluster }) => cluster);
  if (waiting.length > 0) {
    const message = `the service has no address yet in ${listText(waiting)}`;
    return { type, status: 'False', reason: 'Pending', message };
  }
  return { type, status: 'True', reason: 'Initialized', message: 'the export was accepted' };
}

/** Whether all clusters have the service, or which lag (MCS-20, MCS-23). */
function exported(
  { views, quarantined, withdrawnFrom }: Merged,
  cluster: string,
  deliveries: readonly Delivery[],
): PlannedCondition {
  const type = 'Exported';
  if (views.supercluster === undefined) {
    const from = withdrawnFrom === undefined ? 'all clusters' : clustersText(withdrawnFrom);
    const message = `the service is withdrawn from ${from} until the conflict is resolved; see condition Conflict`;
    return { type, status: 'False', reason: 'Conflict', message };
  }
  if (quarantined.includes(cluster)) {
    const message =
      'the export of this cluster is quarantined because it conflicts with older exports; see condition Conflict';
    return { type, status: 'False', reason: 'Quarantined', message };
  }
  const lagging = laggingText(deliveries);
  const named = (['UnknownMember', 'NoGateway'] as const).find((reason) =>
    deliveries.some(({ refusal }) => refusal?.reason === reason),
  );
  if (lagging !== '') return { type, status: 'False', reason: named ?? 'Pending', message: lagging };
  if (deliveries.length === 0)
    return { type, status: 'Unknown', reason: 'Pending', message: 'no cluster has answered yet' };
  return {
    type,
    status: 'True',
    reason: 'Exported',
    message: withSkipped('all clusters have the service', deliveries),
  };
}

/** An unreachable member makes an export incomplete, but not unready. */
function ready(deliveries: readonly Delivery[]): PlannedCondition {
  const type = 'Ready';
  const reachable = deliveries.filter(({ state }) => state !== 'unreachable');
  const refused = reachable.filter(({ state }) => state === 'refused');
  if (refused.length > 0) return { type, status: 'False', reason: 'Failed', message: laggingText(refused) };
  const pending = laggingText(reachable);
  if (pending !== '') return { type, status: 'False', reason: 'Pending', message: pending };
  if (reachable.length === 0)
    return { type, status: 'Unknown', reason: 'Pending', message: 'no cluster has answered yet' };
  const missing = laggingText(deliveries);
  const message = withSkipped('all clusters that can be reached have the service', deliveries);
  return { type, status: 'True', reason: 'Exported', message: missing === '' ? message : `${message}; ${missing}` };
}

/** Appends the clusters that are skipped: those outside of its audience or without the namespace (MCS-109), and rejected ones. */
function withSkipped(message: string, deliveries: readonly Delivery[]): string {
  const skipped = (reason: Refusal['reason']): readonly string[] =>
    deliveries.filter(({ refusal }) => refusal?.reason === reason).map(({ cluster }) => cluster);
  const [absent, rejected] = [skipped('NamespaceAbsent'), skipped('Rejected')];
  const hidden = skipped('NotInAudience');
  const exceptions = [
    ...(hidden.length === 0
      ? []
      : [`${clustersText(hidden)}, which ${hidden.length === 1 ? 'is' : 'are'} not in its audience`]),
    ...(absent.length === 0
      ? []
      : [`${clustersText(absent)}, which ${absent.length === 1 ? 'does' : 'do'} not have its namespace`]),
    ...(rejected.length === 0
      ? []
      : [`${clustersText(rejected)}, which the controller rejects (see \`fairlead mcs list\`)`]),
  ];
  return exceptions.length === 0 ? message : `${message}, except ${exceptions.join(', and ')}`;
}

/** The clusters without the service, and why; '' if all have it. */
function laggingText(deliveries: readonly Delivery[]): string {
  const inState = (wanted: Delivery['state']): readonly string[] =>
    deliveries.filter(({ state }) => state === wanted).map(({ cluster }) => cluster);
  const failing = deliveries.filter(({ state, error }) => state === 'pending' && error !== undefined);
  const pending = inState('pending').filter((cluster) => failing.every((each) => each.cluster !== cluster));
  const unreachable = deliveries.filter(({ state }) => state === 'unreachable');
  const silent = unreachable.filter(({ error }) => error === undefined).map(({ cluster }) => cluster);
  return [
    ...(pending.length > 0 ? [`not yet in ${listText(pending)}`] : []),
    ...failing.map(({ cluster, error }) => `cluster ${cluster} rejects the import: ${error}`),
    ...(silent.length > 0 ? [`cannot reach ${listText(silent)}`] : []),
    ...unreachable.flatMap(({ error }) => error ?? []),
    ...deliveries
      .filter(({ state }) => state === 'refused')
      .map(({ cluster, refusal }) => refusal?.message ?? `refused by ${cluster}`),
  ].join('; ');
}

/** The same on all exports of the service, not only on the newest (MCS-121, MCS-123). */
function conflicting({ conflicts }: Merged, api: McsApi): PlannedCondition {
  const own = conflicts.filter(({ apis }) => apis.includes(api));
  if (own.length === 0) return noConflict;
  const reasons = [...new Set(own.map(({ reason }) => reason))];
  return { type: 'Conflict', status: 'True', reason: reasons.join(','), message: conflictsText(own) };
}
