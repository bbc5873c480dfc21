import { jobKind } from '../../../api/kinds/batch/job/kind.ts';
import type { Job } from '../../../api/kinds/batch/job/schema.ts';
import type { Container, Pod } from '../../../api/kinds/core/pod/schema.ts';
import type { Outcome } from '../../../client/queue.ts';
import type { ControllerContext } from '../../context.ts';
import { referenceTo } from '../owner.ts';
import type { PodOwner, PodSync } from '../pod-owner.ts';
import { runPodOwner } from '../pod-owner.ts';
import { selectorOf } from '../selector.ts';
import { podFromTemplate } from '../template.ts';
import { indexAnnotation, indexFailuresAnnotation } from './indexes.ts';
import type { JobPlan, NewPod } from './plan.ts';
import { runOrphanedPods } from './orphans.ts';
import { trackingFinalizer } from './count.ts';
import { planJob } from './plan.ts';
import { release } from './release.ts';

const component = 'job-controller';

/** Jobs of other controllers name them in `spec.managedBy`. */
const ownName = 'kubernetes.io/job-controller';

/** Runs the controller of Jobs until the signal fires. */
export async function runJobs(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const jobs: PodOwner<Job> = {
    kind: jobKind,
    name: component,
    queue: 'job',
    owners: context.workloads.jobs,
    selects: ({ spec }) => selectorOf(spec.selector),
    reconcile: (sync) => reconcile(context, sync),
  };
  await Promise.all([runPodOwner(context, jobs, signal), runOrphanedPods(context, signal)]);
}

async function reconcile(context: ControllerContext, sync: PodSync<Job>): Promise<Outcome> {
  const { client } = context;
  const { owner: job, pods, now, signal, writer } = sync;
  if (job.spec.managedBy !== undefined && job.spec.managedBy !== ownName) return;
  const plan = planJob({ job, pods, now });
  const { create, remove, status } = plan;
  const failure =
    create.length + remove.length === 0
      ? undefined
      : await sync.expecting(async () => {
          const first = remove.length === 0 ? undefined : await writer.remove(job, remove, signal);
          const made = create.map((each) => podOf(job, each));
          return (made.length === 0 ? undefined : await writer.create(job, made, signal)) ?? first;
        });
  // UIDs first: a Pod whose finalizer is gone could not be counted after a crash.
  if (status !== undefined) await client.updateStatus(jobKind, { ...job, status }, { signal, metadataOnly: true });
  await Promise.all(plan.release.map((pod) => release(client, pod, signal)));
  report(context, job, plan);
  if (failure !== undefined) throw failure.error; // the queue retries
  return plan.nextMs === undefined ? undefined : { requeueAfterMs: plan.nextMs };
}

function report(context: ControllerContext, job: Job, { ended, status }: JobPlan): void {
  const record = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
    context.recorder(component).record(jobKind, job, { type, reason, message });
  if (ended !== undefined) {
    if (ended.isSuccess) record('Normal', 'Completed', 'Job completed');
    else record('Warning', ended.reason, ended.message);
  }
  const suspended = status?.conditions?.find(({ type }) => type === 'Suspended');
  const before = job.status.conditions?.find(({ type }) => type === 'Suspended');
  if (suspended === undefined || suspended.status === before?.status) return;
  if (suspended.status === 'True') record('Normal', 'Suspended', 'Job suspended');
  else record('Normal', 'Resumed', 'Job resumed');
}

/** A Pod of a Job, with its index if the Job is indexed. */
function podOf(job: Job, { index, failures }: NewPod): Pod {
  const { namespace = '', name = '' } = job.metadata;
  const generateName = index === undefined ? `${name}-` : `${name}-${index}-`;
  const pod = podFromTemplate(job.spec.template, { namespace, owner: referenceTo(jobKind, job), generateName });
  const finalizers = [...(pod.metadata.finalizers ?? []), trackingFinalizer];
  if (index === undefined) return { ...pod, metadata: { ...pod.metadata, finalizers } };
  const text = String(index);
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      finalizers,
      labels: { ...pod.metadata.labels, [indexAnnotation]: text },
      annotations: {
        ...pod.metadata.annotations,
        [indexAnnotation]: text,
        ...(failures === undefined ? {} : { [indexFailuresAnnotation]: String(failures) }),
      },
    },
    spec: {
      ...pod.spec,
      hostname: pod.spec.hostname ?? `${name}-${index}`,
      containers: (pod.spec.containers ?? []).map(withIndex),
      ...(pod.spec.initContainers === undefined
        ? {}
        : { initContainers: (pod.spec.initContainers ?? []).map(withIndex) }),
    },
  };
}

const indexVariable = 'JOB_COMPLETION_INDEX';

function withIndex(container: Container): Container {
  if (container.env?.some(({ name }) => name === indexVariable)) return container;
  const fieldRef = { apiVersion: 'v1', fieldPath: `metadata.labels['${indexAnnotation}']` };
  return { ...container, env: [...(container.env ?? []), { name: indexVariable, valueFrom: { fieldRef } }] };
}
