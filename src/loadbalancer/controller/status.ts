// The load balancer status and conditions of a Service (LB-3, LB-4).
import type { LoadBalancerStatus, Service } from '../../api/kinds/core/service/schema.ts';
import type { Condition } from '../../api/metadata.ts';
import { byKey } from '../../api/order.ts';
import type { Problem } from '../clouds/evaluate.ts';

/** The condition of the current API. */
export const portsError = 'LoadBalancerPortsError';
/** The condition that KEP-1435 first proposed; also a reason of the current one. */
export const mixedNotSupported = 'LoadBalancerMixedProtocolNotSupported';

/** A strategic merge patch of the status. */
export interface StatusPatch {
  readonly metadata: { readonly uid?: string };
  readonly status: {
    readonly loadBalancer?: { readonly ingress: LoadBalancerStatus['ingress'] | null };
    readonly conditions?: readonly Condition[];
  };
}

export interface DesiredStatus {
  readonly status: LoadBalancerStatus;
  readonly problem?: Problem | undefined;
  /** RFC 3339, for conditions that change. */
  readonly now: string;
}

/** The patch of the status; undefined if it is up to date. */
export function statusPatch(service: Service, { status, problem, now }: DesiredStatus): StatusPatch | undefined {
  const { uid } = service.metadata;
  const before = service.status.loadBalancer.ingress ?? [];
  const after = status.ingress ?? [];
  const isSame = JSON.stringify(before.map(sorted)) === JSON.stringify(after.map(sorted));
  const conditions = [portsError, mixedNotSupported].flatMap(
    (type) => conditionFor(type, service, { problem, now }) ?? [],
  );
  if (isSame && conditions.length === 0) return undefined;
  return {
    metadata: uid === undefined ? {} : { uid },
    status: {
      ...(isSame ? {} : { loadBalancer: { ingress: after.length === 0 ? null : after } }),
      ...(conditions.length === 0 ? {} : { conditions }),
    },
  };
}

/** The condition to write; undefined if it is up to date or was never set. */
function conditionFor(
  type: string,
  service: Service,
  { problem, now }: Omit<DesiredStatus, 'status'>,
): Condition | undefined {
  const old = service.status.conditions?.find((condition) => condition.type === type);
  const isTrue = problem !== undefined && (type === portsError || problem.isAboutMixing);
  if (!isTrue && (old === undefined || old.status === 'False')) return undefined;
  const status = isTrue ? 'True' : 'False';
  const reason = isTrue ? problem.reason : 'LoadBalancerPortsServed';
  const message = isTrue ? problem.message : 'all ports are served, or the Service needs no load balancer';
  if (old?.status === status && old.reason === reason && old.message === message) return undefined;
  return {
    type,
    status,
    observedGeneration: service.metadata.generation ?? 0,
    lastTransitionTime: old?.status === status ? old.lastTransitionTime : now,
    reason,
    message,
  };
}

/** Sorts fields recursively and drops empty ones, for comparison. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined && each !== '');
  return Object.fromEntries(entries.toSorted(byKey).map(([key, each]) => [key, sorted(each)]));
};
