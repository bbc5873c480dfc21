// The time of the change that caused a write of endpoints, from which the network programming latency is measured.
import type { Pod } from '../api/kinds/core/pod/schema.ts';
import type { Service } from '../api/kinds/core/service/schema.ts';

/** The times at the last reconcile of a Service. */
export interface SeenTimes {
  readonly service: string;
  /** Pod name → last change of its readiness. */
  readonly pods: ReadonlyMap<string, string>;
}

/** The earliest time that is newer than at the last reconcile; undefined if there is none. */
export function triggerTime(
  service: Service,
  pods: readonly Pod[],
  before: SeenTimes | undefined,
): { readonly time: string | undefined; readonly seen: SeenTimes } {
  const times = new Map<string, string>();
  let earliest: string | undefined;
  const consider = (time: string, previous = ''): void => {
    if (time > previous && (earliest === undefined || time < earliest)) earliest = time;
  };
  for (const { metadata, status } of pods) {
    const changed = status.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
    if (!changed) continue;
    const name = metadata.name ?? '';
    times.set(name, changed);
    consider(changed, before?.pods.get(name));
  }
  const created = service.metadata.creationTimestamp ?? '';
  consider(created, before?.service);
  return { time: earliest, seen: { service: created, pods: times } };
}
