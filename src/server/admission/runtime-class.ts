// The admission plugin RuntimeClass.
import { forbidden } from '../../api/errors.ts';
import type { Pod, PodSpec } from '../../api/kinds/core/pod/schema.ts';
import { parseQuantity } from '../../api/quantity.ts';
import type { RuntimeClass } from '../../api/kinds/node/runtimeclass/kind.ts';
import { runtimeClassKind } from '../../api/kinds/node/runtimeclass/kind.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import { mergeTolerations } from './tolerations.ts';

/** Adds the overhead, node labels and tolerations of its RuntimeClass to a new Pod. */
export function withRuntimeClass(watchCache: WatchCache, resource: Resource, pod: Pod): Pod {
  const deny = (why: string): Error => forbidden(subjectOf(resource, pod.metadata.name ?? ''), why);
  const { runtimeClassName: name, overhead, nodeSelector = {} } = pod.spec;
  const found = name === undefined ? undefined : runtimeClassNamed(watchCache, name);
  if (name !== undefined && found === undefined) {
    throw deny(`pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
  }
  const fixed = found?.overhead?.podFixed;
  if (found?.overhead === undefined && overhead !== undefined) {
    throw deny('pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead');
  }
  if (found?.overhead !== undefined && overhead !== undefined && !equalAmounts(overhead, fixed ?? {})) {
    throw deny("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  }
  for (const [key, value] of Object.entries(found?.scheduling?.nodeSelector ?? {})) {
    const mine = Object.hasOwn(nodeSelector, key) ? nodeSelector[key] : value;
    if (mine === value) continue;
    throw deny(
      `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${mine ?? ''}`,
    );
  }
  const spec: PodSpec = { ...pod.spec, ...(fixed === undefined ? {} : { overhead: fixed }) };
  return { ...pod, spec: withScheduling(spec, found?.scheduling) };
}

function withScheduling(spec: PodSpec, scheduling: RuntimeClass['scheduling']): PodSpec {
  if (scheduling === undefined) return spec;
  const nodeSelector = { ...spec.nodeSelector, ...scheduling.nodeSelector };
  const tolerations = mergeTolerations([...(spec.tolerations ?? []), ...(scheduling.tolerations ?? [])]);
  return {
    ...spec,
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
  };
}

function runtimeClassNamed(watchCache: WatchCache, name: string): RuntimeClass | undefined {
  const cache = watchCache.of(runtimeClassKind);
  return cache.get(cache.key('', name))?.object as RuntimeClass | undefined; // a cache holds objects of its kind
}

type Amounts = Readonly<Record<string, string | number>>;

const equalAmounts = (left: Amounts, right: Amounts): boolean =>
  Object.keys(left).length === Object.keys(right).length &&
  Object.entries(left).every(([name, amount]) => {
    const other = Object.hasOwn(right, name) ? right[name] : undefined;
    return other !== undefined && parseQuantity(String(amount)).nano === parseQuantity(String(other)).nano;
  });
