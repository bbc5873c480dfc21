import { jobKind } from '../../../api/kinds/batch/job/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { logRetry, runController } from '../../../client/controller.ts';
import type { Key } from '../../../client/key.ts';
import { keyFor, keyOf } from '../../../client/key.ts';
import type { Outcome } from '../../../client/queue.ts';
import { WorkQueue } from '../../../client/queue.ts';
import type { ControllerContext } from '../../context.ts';
import { controllerOf } from '../owner.ts';
import { isTracked } from './count.ts';
import { release } from './release.ts';

/** Removes the finalizer of Pods without a Job until the signal fires: it would keep them and their namespace forever. */
export function runOrphanedPods(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, caches, workloads, log } = context;
  const hasJob = (pod: Pod): boolean => {
    const owner = controllerOf(pod);
    if (owner?.kind !== jobKind.kind) return false;
    const key = keyFor({ namespace: pod.metadata.namespace, name: owner.name });
    return workloads.jobs.get(key)?.metadata.uid === owner.uid;
  };
  const queue = new WorkQueue({
    async work(key: Key, stop: AbortSignal): Promise<Outcome> {
      const pod = caches.pods.get(key);
      if (pod === undefined || !isTracked(pod) || hasJob(pod)) return;
      const owner = controllerOf(pod);
      if (owner?.kind === jobKind.kind) {
        // The cache of Jobs may be behind that of Pods.
        const job = await client.find(
          jobKind,
          { namespace: pod.metadata.namespace, name: owner.name },
          { signal: stop },
        );
        if (job?.metadata.uid === owner.uid) return;
      }
      await release(client, pod, stop);
    },
    onError: logRetry(log, 'job-controller'),
    observer: context.observer('job_orphan_pod'),
  });
  const check = (pod: Pod): void => {
    if (isTracked(pod) && !hasJob(pod)) queue.add(keyOf(pod));
  };
  const subscribe = (): readonly (() => void)[] => [
    caches.pods.subscribe({ added: check, updated: check }),
    workloads.jobs.subscribe({
      deleted: ({ metadata }) => {
        for (const pod of caches.pods.by('controller', metadata.uid ?? '')) check(pod);
      },
    }),
  ];
  return runController({ queue, caches: [caches.pods, workloads.jobs], subscribe }, signal);
}
