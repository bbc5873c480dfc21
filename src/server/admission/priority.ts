// The admission plugin Priority.
import { forbidden } from '../../api/errors.ts';
import type { Pod, PodSpec } from '../../api/kinds/core/pod/schema.ts';
import type { PriorityClass } from '../../api/kinds/scheduling/priorityclass/kind.ts';
import { priorityClassKind } from '../../api/kinds/scheduling/priorityclass/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import type { WriteRequest } from '../verbs/write-request.ts';

/** Sets the priority and the preemption policy of a new Pod from its class, or from the default class. */
export function withPriority(watchCache: WatchCache, resource: Resource, pod: Pod): Pod {
  const deny = (why: string): Error => forbidden(subjectOf(resource, pod.metadata.name ?? ''), why);
  const { priorityClassName: name = '', priority, preemptionPolicy } = pod.spec;
  const found = name === '' ? defaultPriorityClass(watchCache) : priorityClassNamed(watchCache, name);
  if (name !== '' && found === undefined) throw deny(`no PriorityClass with name ${name} was found`);
  const { value, preemptionPolicy: policy } = found ?? { value: 0, preemptionPolicy: 'PreemptLowerPriority' as const };
  if (priority !== undefined && priority !== value) {
    throw deny(
      `the integer value of priority (${priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
    );
  }
  if (policy !== undefined && preemptionPolicy !== undefined && preemptionPolicy !== policy) {
    throw deny(
      `the string value of PreemptionPolicy (${preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
    );
  }
  const spec: PodSpec = {
    ...pod.spec,
    ...(found === undefined ? {} : { priorityClassName: found.metadata.name ?? '' }),
    priority: value,
    ...(policy === undefined ? {} : { preemptionPolicy: policy }),
  };
  return { ...pod, spec };
}

/** Keeps the priority and the preemption policy of a Pod if a change does not contain them. */
export function withPriorityOf(old: Pod, pod: Pod): Pod {
  const { priority = old.spec.priority, preemptionPolicy = old.spec.preemptionPolicy } = pod.spec;
  const kept = {
    ...(priority === undefined ? {} : { priority }),
    ...(preemptionPolicy === undefined ? {} : { preemptionPolicy }),
  };
  return { ...pod, spec: { ...pod.spec, ...kept } };
}

/** Throws a 403 if a second PriorityClass would be the default. */
export function denySecondDefault(
  { watchCache, plugins }: ServerContext,
  resource: Resource,
  _request: WriteRequest,
  { next, old }: { readonly next: ApiObject; readonly old: ApiObject | undefined },
): void {
  if (!plugins.has('Priority')) return;
  const { globalDefault } = next as PriorityClass; // only called with PriorityClasses
  const name = defaultPriorityClass(watchCache)?.metadata.name;
  if (globalDefault !== true || name === undefined || (old !== undefined && name === next.metadata.name)) return;
  const why = `PriorityClass ${name} is already marked as default. Only one default can exist`;
  throw forbidden(subjectOf(resource, next.metadata.name ?? ''), why);
}

function priorityClassNamed(watchCache: WatchCache, name: string): PriorityClass | undefined {
  const cache = watchCache.of(priorityClassKind);
  return cache.get(cache.key('', name))?.object as PriorityClass | undefined; // a cache holds objects of its kind
}

/** Of several default classes, which servers of one store can create at the same time, the one with the lowest value. */
function defaultPriorityClass(watchCache: WatchCache): PriorityClass | undefined {
  const cache = watchCache.of(priorityClassKind);
  return cache
    .range(cache.prefix)
    .map(({ object }) => object as PriorityClass) // a cache holds objects of its kind
    .filter(({ globalDefault }) => globalDefault === true)
    .toSorted((a, b) => a.value - b.value)[0];
}
