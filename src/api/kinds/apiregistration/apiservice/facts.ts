import type { ApiService, ApiServiceCondition } from './schema.ts';

/** The name of the APIService of a version: `v1beta1.metrics.k8s.io`, and `v1.` for the core group. */
export const apiServiceName = ({ group, version }: { readonly group: string; readonly version: string }): string =>
  `${version}.${group}`;

/** The condition Available; undefined if nothing has checked the server yet. */
export const availabilityOf = ({ status }: ApiService): ApiServiceCondition | undefined =>
  (status.conditions ?? []).find(({ type }) => type === 'Available');

/** Whether the server of the APIService can be reached. */
export const isAvailable = (object: ApiService): boolean => availabilityOf(object)?.status === 'True';

/** The APIService with another availability. The time changes only with the status. */
export function withAvailability(
  object: ApiService,
  next: { readonly status: string; readonly reason: string; readonly message: string },
  now: string,
): ApiService {
  const old = availabilityOf(object);
  if (old?.status === next.status && old.reason === next.reason && old.message === next.message) return object;
  const lastTransitionTime = old?.status === next.status ? (old.lastTransitionTime ?? now) : now;
  const condition = { type: 'Available', ...next, lastTransitionTime };
  const others = (object.status.conditions ?? []).filter((each) => each !== old);
  return { ...object, status: { ...object.status, conditions: [...others, condition] } };
}

/** The availability of what this server itself serves. */
export const localAvailability = {
  status: 'True',
  reason: 'Local',
  message: 'Local APIServices are always available',
} as const;
