// When the change happened that a write of endpoints answers to. Latency of programming is measured from it.
import type { Pod } from '../api/kinds/core/pod/schema.ts';
import type { Service } from '../api/kinds/core/service/schema.ts';

/** The times that were seen at the last run for one Service; a loop keeps one for each. */
export interface SeenTimes {
  readonly service: string;
  /** Pod name → when its readiness last changed. */
  readonly pods: ReadonlyMap<string, string>;
}

/** The earliest time that is newer than what was seen before; undefined if nothing is. */
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
