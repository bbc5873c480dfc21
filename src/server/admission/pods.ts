// The admission plugins that change Pods, in kube-apiserver's order.
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import { withDefaultLimits } from './limit-ranger.ts';
import { withPriority, withPriorityOf } from './priority.ts';
import { withRuntimeClass } from './runtime-class.ts';
import { withDefaultTolerations } from './tolerations.ts';

/** A Pod as the enabled plugins complete it; throws the 403 of one that rejects it. */
export function completePod(
  { watchCache, plugins }: ServerContext,
  resource: Resource,
  change: { readonly next: ApiObject; readonly old: ApiObject | undefined },
): Pod {
  // Only called with Pods.
  let pod = change.next as Pod;
  const old = change.old as Pod | undefined;
  if (old === undefined && plugins.has('LimitRanger')) pod = withDefaultLimits(watchCache, pod);
  if (plugins.has('Priority')) {
    pod = old === undefined ? withPriority(watchCache, resource, pod) : withPriorityOf(old, pod);
  }
  if (plugins.has('DefaultTolerationSeconds')) pod = withDefaultTolerations(pod);
  return old === undefined && plugins.has('RuntimeClass') ? withRuntimeClass(watchCache, resource, pod) : pod;
}
