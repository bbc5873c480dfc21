// The status of a ClusterMember, computed from the state of the cluster in the controller.
import { isDeepStrictEqual } from 'node:util';
import type { ClusterMemberStatus } from '../../api/kinds/multicluster/clustermember/schema.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { GatewayProblem } from '../member/keys.ts';
import type { PlannedEvent } from '../../client/event-correlator.ts';
import type { ProbeState } from '../member/health-probe.ts';
import type { PlannedCondition } from '../project/conditions.ts';
import { withConditions } from '../project/conditions.ts';
import type { DrainProgress } from '../project/drain.ts';
import { drainText } from '../project/drain.ts';
import type { MemberAccess } from './member-secret.ts';

/** What the status of a member depends on. */
export interface Observed {
  readonly generation: number | undefined;
  /** Why the object is not a member, by reason; undefined: it is one. */
  readonly rejection: { readonly reason: string; readonly message: string } | undefined;
  readonly access: MemberAccess;
  /** Why the token could not be renewed; undefined: it was, or is not due. */
  readonly renewalProblem: string | undefined;
  /** undefined: it is not connected. */
  readonly cluster: ObservedCluster | undefined;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

export interface ObservedCluster {
  readonly state: ProbeState;
  readonly uid: string | undefined;
  readonly version: string | undefined;
  /** Why it is not read or written; undefined: it is. */
  readonly problem: string | undefined;
  /** Services that wait to be written to it, and for how long, in seconds. */
  readonly waiting: number;
  readonly lagSeconds: number;
  /** The Services that it exports, as `namespace/name`. */
  readonly exports: readonly string[];
  readonly isLeaving: boolean;
  /** Why its Pods cannot be routed; undefined: they can. */
  readonly overlap?: string | undefined;
  /** Whether other clusters can use its gateway; undefined: they reach it in another way. */
  readonly gateway?: { readonly problem: GatewayProblem | undefined } | undefined;
  /** How far its traffic has moved to others; undefined: it does not drain. */
  readonly drain?: DrainProgress | undefined;
}

const mostExports = 50;

/** The status to write; undefined: it has not changed. */
export function statusOf(observed: Observed, before: ClusterMemberStatus = {}): ClusterMemberStatus | undefined {
  const { access, cluster, nowMs, generation } = observed;
  const isRead = cluster !== undefined && cluster.problem === undefined;
  const expiresAtMs = access.problem === undefined ? access.expiresAtMs : undefined;
  const has = (wanted: string): boolean => before.conditions?.some(({ type }) => type === wanted) === true;
  const planned = [
    acceptedOf(observed),
    credentialsOf(observed),
    reachableOf(observed),
    inSyncOf(observed),
    ...(cluster !== undefined && (cluster.overlap !== undefined || has('AddressesRoutable'))
      ? [routableOf(cluster)]
      : []),
    ...(cluster !== undefined && (cluster.gateway !== undefined || has('GatewayReachable'))
      ? [gatewayOf(cluster.gateway ?? { problem: undefined })]
      : []),
    ...(cluster?.drain !== undefined || (cluster !== undefined && has('Drained')) ? [drainedOf(cluster)] : []),
  ];
  const conditions = withConditions(planned, before.conditions ?? [], timestamp(nowMs));
  const exports = isRead ? cluster.exports.toSorted() : undefined;
  const { credentialsExpireAt: _, ...kept } = before;
  const next: ClusterMemberStatus = {
    ...kept,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...(conditions === undefined ? {} : { conditions }),
    // What was last known stays while the cluster does not answer.
    ...(cluster?.uid === undefined ? {} : { clusterUID: cluster.uid }),
    ...(cluster?.version === undefined ? {} : { version: cluster.version }),
    ...(exports === undefined ? {} : { exportCount: exports.length, exports: exports.slice(0, mostExports) }),
    ...(cluster === undefined ? {} : { waitingServices: cluster.waiting, lagSeconds: cluster.lagSeconds }),
    ...(expiresAtMs === undefined ? {} : { credentialsExpireAt: timestamp(expiresAtMs) }),
  };
  return isDeepStrictEqual(next, before) ? undefined : next;
}

const condition = (
  type: string,
  status: PlannedCondition['status'],
  reason: string,
  message: string,
): PlannedCondition => ({ type, status, reason, message });

function acceptedOf({ rejection, cluster }: Observed): PlannedCondition {
  if (rejection !== undefined) return condition('Accepted', 'False', rejection.reason, rejection.message);
  if (cluster?.isLeaving === true)
    return condition('Accepted', 'False', 'Leaving', 'the cluster leaves the set: its exports are withdrawn');
  return condition('Accepted', 'True', 'Accepted', 'the cluster is a member of the set');
}

function credentialsOf({ access, renewalProblem, nowMs }: Observed): PlannedCondition {
  const type = 'CredentialsReady';
  if (access.problem !== undefined) return condition(type, 'False', access.problem.reason, access.problem.message);
  const { expiresAtMs } = access;
  const at = expiresAtMs === undefined ? '' : timestamp(expiresAtMs);
  const renewal = renewalProblem === undefined ? '' : `; it could not be renewed: ${renewalProblem}`;
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs)
    return condition(
      type,
      'False',
      'Expired',
      `the credentials expired at ${at}${renewal}: write new ones into the Secret`,
    );
  if (renewalProblem !== undefined)
    return condition(type, 'False', 'RenewalFailed', `the token expires at ${at}${renewal}`);
  return condition(type, 'True', 'Valid', 'the Secret has usable credentials');
}

function reachableOf({ cluster }: Observed): PlannedCondition {
  const type = 'Reachable';
  if (cluster === undefined) return condition(type, 'Unknown', 'NotConnected', 'the controller does not connect to it');
  if (cluster.state === 'alive') return condition(type, 'True', 'Answers', 'the API server answers');
  const message = cluster.problem ?? 'the API server has not answered yet';
  return cluster.state === 'unknown'
    ? condition(type, 'Unknown', 'NotProbed', message)
    : condition(type, 'False', 'NoAnswer', message);
}

function routableOf({ overlap }: ObservedCluster): PlannedCondition {
  const type = 'AddressesRoutable';
  return overlap === undefined
    ? condition(type, 'True', 'NoOverlap', 'no other cluster has endpoints at the same addresses')
    : condition(type, 'False', 'OverlappingRanges', overlap);
}

function gatewayOf({ problem }: NonNullable<ObservedCluster['gateway']>): PlannedCondition {
  const type = 'GatewayReachable';
  return problem === undefined
    ? condition(type, 'True', 'Reachable', 'the gateways of other clusters report no problem with its gateway')
    : condition(type, 'False', problem.reason, problem.message);
}

function drainedOf({ drain }: ObservedCluster): PlannedCondition {
  const type = 'Drained';
  if (drain === undefined) return condition(type, 'False', 'NotDraining', 'the cluster does not drain');
  const message = drainText(drain);
  if (drain.pending.length > 0) return condition(type, 'False', 'InProgress', message);
  return drain.kept.length > 0
    ? condition(type, 'False', 'LastEndpoints', message)
    : condition(type, 'True', 'Drained', message);
}

/** The Event for a changed condition Drained; undefined: none. */
export function drainEvent(
  before: ClusterMemberStatus = {},
  after: ClusterMemberStatus = {},
): PlannedEvent | undefined {
  const [old, now] = [before, after].map(({ conditions = [] }) => conditions.find(({ type }) => type === 'Drained'));
  if (now === undefined || (old?.reason === now.reason && old.message === now.message)) return undefined;
  if (now.reason === 'LastEndpoints') return { type: 'Warning', reason: 'DrainIncomplete', message: now.message };
  if (now.reason === 'Drained') return { type: 'Normal', reason: 'Drained', message: now.message };
  if (now.reason === 'NotDraining' && old !== undefined)
    return { type: 'Normal', reason: 'Undrained', message: 'other clusters use its endpoints again' };
  return undefined;
}

function inSyncOf({ cluster, rejection }: Observed): PlannedCondition {
  const type = 'InSync';
  const problem =
    rejection?.message ?? (cluster === undefined ? 'the controller does not connect to it' : cluster.problem);
  if (problem !== undefined) return condition(type, 'Unknown', 'NotRead', problem);
  if (cluster !== undefined && cluster.lagSeconds > 0)
    return condition(type, 'False', 'Behind', `writes to it are late: see status.lagSeconds`);
  return condition(type, 'True', 'InSync', 'it has all imports');
}
