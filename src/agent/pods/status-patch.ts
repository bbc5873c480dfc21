// The difference between the status of a Pod in the API and the one that the agent computed.
import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';

type PodStatus = Pod['status'];
type Condition = NonNullable<PodStatus['conditions']>[number];

/** A strategic merge patch of `pods/status`, with the UID as its precondition; undefined: nothing differs. */
export function statusPatch(pod: Pod, status: PodStatus): object | undefined {
  const { conditions = [], ...rest } = status;
  const changed = Object.entries(rest).filter(([key, value]) => {
    // A cast: the keys of a status.
    return !isDeepStrictEqual(plain(pod.status[key as keyof PodStatus]), plain(value));
  });
  const stale = conditions.filter((condition) => {
    const old = pod.status.conditions?.find(({ type }) => type === condition.type);
    return !isDeepStrictEqual(plain(old), plain(condition));
  });
  if (changed.length === 0 && stale.length === 0) return undefined;
  const fields = changed.map(([key, value]) => [key, replaced(key, value)]);
  return {
    metadata: { uid: pod.metadata.uid },
    status: {
      ...Object.fromEntries(fields),
      ...(stale.length === 0 ? {} : { conditions: stale.map(withAbsent) }),
    },
  };
}

/** Without undefined and null, as it comes back from the API. */
const plain = (value: unknown): unknown =>
  value === undefined
    ? undefined
    : (JSON.parse(JSON.stringify(value, (_, each: unknown) => (each === null ? undefined : each))) as unknown);

/** Lists that would be merged by address are replaced. */
const replaced = (key: string, value: unknown): unknown =>
  key === 'podIPs' || key === 'hostIPs' ? [{ $patch: 'replace' }, ...(value as readonly object[])] : value;

/** Patches of a condition merge its fields: an absent one must be null to be removed. */
const withAbsent = (condition: Condition): object => ({ reason: null, message: null, ...condition });
