import { messageOf } from '../../../api/error-message.ts';
import { deploymentKind } from '../../../api/kinds/apps/deployment/kind.ts';
import type { Deployment } from '../../../api/kinds/apps/deployment/schema.ts';
import type { ReplicaSet } from '../../../api/kinds/apps/replicaset/kind.ts';
import { replicaSetKind } from '../../../api/kinds/apps/replicaset/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import type { Clock } from '../../../client/clock.ts';
import { systemClock } from '../../../client/clock.ts';
import { logRetry, runController } from '../../../client/controller.ts';
import type { EventRecorder } from '../../../client/events.ts';
import { Expectations } from '../../../client/expectations.ts';
import type { Key } from '../../../client/key.ts';
import { keyFor, keyOf, nameOf } from '../../../client/key.ts';
import type { Outcome } from '../../../client/queue.ts';
import { WorkQueue } from '../../../client/queue.ts';
import { hasStatusCode } from '../../../client/transport.ts';
import type { ControllerContext } from '../../context.ts';
import { isNamespaceEnding } from '../../slice-writer.ts';
import { writeClaim } from '../claim.ts';
import { withCondition } from '../conditions.ts';
import { onDependentChange } from '../dependents.ts';
import { controllerOf, orphansOf, planClaim } from '../owner.ts';
import { coalesceMs, pendingMs } from '../pace.ts';
import { expecting } from '../pod-owner.ts';
import { selectorOf } from '../selector.ts';
import type { DeploymentPlan } from './plan.ts';
import { planDeployment } from './plan.ts';
import { hasTemplate } from './sets.ts';
import { condition, hasDeadline, reasons } from './status.ts';

/** Runs the controller of Deployments until the signal fires. */
export const runDeployments = (context: ControllerContext, signal: AbortSignal): Promise<void> =>
  new DeploymentController(context).run(signal);

class DeploymentController {
  readonly #context: ControllerContext;
  readonly #clock: Clock;
  readonly #queue: WorkQueue;
  readonly #recorder: EventRecorder;
  /** Writes of ReplicaSets and of the Deployment. */
  readonly #writes = new Expectations();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#clock = context.options.clock ?? systemClock;
    this.#recorder = context.recorder('deployment-controller');
    this.#queue = new WorkQueue({
      work: (key, signal) => this.#reconcile(key, signal),
      workers: 32,
      coalesceMs,
      onError: logRetry(context.log, 'deployment-controller'),
      observer: context.observer('deployment'),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    const { caches, workloads } = this.#context;
    return runController(
      {
        queue: this.#queue,
        caches: [workloads.deployments, workloads.replicaSets, caches.pods],
        subscribe: () => this.#subscribe(),
      },
      signal,
    );
  }

  #subscribe(): readonly (() => void)[] {
    const { caches, workloads } = this.#context;
    const enqueue = (key: Key): void => this.#queue.add(key);
    const enqueueOwner = (pod: Pod): void => {
      const set = controllerOf(pod);
      const { namespace } = pod.metadata;
      const owner = set && workloads.replicaSets.get(keyFor({ namespace, name: set.name }));
      const deployment = owner && controllerOf(owner);
      if (deployment === undefined) return;
      const key = keyFor({ namespace, name: deployment.name });
      // Recreate waits until the last old Pod is gone.
      if (workloads.deployments.get(key)?.spec.strategy.type === 'Recreate') enqueue(key);
    };
    return [
      workloads.deployments.subscribe({
        added: (deployment) => this.#changed(deployment),
        updated: (deployment) => this.#changed(deployment),
        deleted: (deployment) => enqueue(keyOf(deployment)),
      }),
      onDependentChange(workloads.replicaSets, {
        kind: deploymentKind,
        owners: workloads.deployments,
        adopts: ({ spec }, set) => selectorOf(spec.selector)(set),
        writes: this.#writes,
        enqueue,
      }),
      caches.pods.subscribe({ deleted: enqueueOwner }),
    ];
  }

  #changed(deployment: Deployment): void {
    this.#writes.observe(keyOf(deployment), deployment);
    this.#queue.add(keyOf(deployment));
  }

  async #reconcile(key: Key, signal: AbortSignal): Promise<Outcome> {
    const { caches, workloads } = this.#context;
    const deployment = workloads.deployments.get(key);
    if (deployment === undefined) return this.#writes.delete(key);
    if (this.#writes.isPending(key)) return { requeueAfterMs: pendingMs };
    const sets = await this.#claim(deployment, signal);
    const pods = (): readonly Pod[] => sets.flatMap(({ metadata }) => caches.pods.by('controller', metadata.uid ?? ''));
    const plan = planDeployment({ deployment, sets, pods, now: this.#clock.now() });
    if (isEmpty(plan)) return plan.nextMs === undefined ? undefined : { requeueAfterMs: plan.nextMs };
    await expecting(this.#writes, key, {
      run: () => this.#write(key, deployment, plan, signal),
      retry: () => this.#queue.add(key),
    });
    return plan.nextMs === undefined ? undefined : { requeueAfterMs: plan.nextMs };
  }

  async #claim(deployment: Deployment, signal: AbortSignal): Promise<readonly ReplicaSet[]> {
    const { client, workloads } = this.#context;
    const { uid = '', namespace } = deployment.metadata;
    const candidates = [
      ...workloads.replicaSets.by('controller', uid),
      ...workloads.replicaSets.by('controller', orphansOf(namespace)),
    ];
    const claim = planClaim(deployment, candidates, selectorOf(deployment.spec.selector));
    return writeClaim(deployment, claim, { client, ownerKind: deploymentKind, kind: replicaSetKind, signal });
  }

  async #write(key: Key, deployment: Deployment, plan: DeploymentPlan, signal: AbortSignal): Promise<void> {
    const { client } = this.#context;
    if (plan.create !== undefined && !(await this.#create(key, deployment, plan.create, signal))) return;
    for (const { set, from, to } of plan.update) {
      this.#writes.wrote(key, await client.update(replicaSetKind, set, { signal, metadataOnly: true }), set);
      if (from !== to) this.#recordScaling(deployment, set, { from, to });
    }
    for (const set of plan.remove) {
      const { uid = '' } = set.metadata;
      await client.delete(replicaSetKind, nameOf(set), {
        preconditions: { uid },
        propagationPolicy: 'Background',
        signal,
      });
      this.#writes.removed(key, set);
    }
    if (plan.deployment !== undefined) await this.#writeStatus(key, plan.deployment, signal);
  }

  /** Creates the new ReplicaSet; false: its name is taken, and the next sync tries another hash. */
  async #create(key: Key, deployment: Deployment, set: ReplicaSet, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#context;
    try {
      this.#writes.wrote(key, await client.create(replicaSetKind, set, { signal }), set);
    } catch (error) {
      if (isNamespaceEnding(error)) return false;
      if (hasStatusCode(error, 409)) return this.#resolveCollision(key, deployment, set, signal);
      await this.#reportFailure(key, deployment, error, signal);
      throw error;
    }
    const { replicas = 0 } = set.spec;
    if (replicas > 0) this.#recordScaling(deployment, set, { from: 0, to: replicas });
    return true;
  }

  /** Another hash for the template, if the name is taken by a ReplicaSet that is not ours. */
  async #resolveCollision(key: Key, deployment: Deployment, set: ReplicaSet, signal: AbortSignal): Promise<boolean> {
    const existing = await this.#context.client.find(replicaSetKind, nameOf(set), { signal });
    const isOurs =
      existing !== undefined &&
      controllerOf(existing)?.uid === deployment.metadata.uid &&
      hasTemplate(existing, deployment.spec.template);
    // Our own ReplicaSet reaches the cache soon, and that enqueues the Deployment.
    if (isOurs || existing === undefined) return false;
    const collisionCount = (deployment.status.collisionCount ?? 0) + 1;
    await this.#writeStatus(key, { ...deployment, status: { ...deployment.status, collisionCount } }, signal);
    return false;
  }

  async #reportFailure(key: Key, deployment: Deployment, error: unknown, signal: AbortSignal): Promise<void> {
    if (signal.aborted || !hasDeadline(deployment)) return;
    const message = messageOf(error);
    const next = condition('Progressing', 'False', reasons.createError, message, this.#clock.now());
    this.#recorder.record(deploymentKind, deployment, {
      type: 'Warning',
      reason: reasons.createError,
      message: `Failed to create new replica set: ${message}`,
    });
    const conditions = withCondition(deployment.status.conditions, next);
    if (conditions === deployment.status.conditions) return;
    await this.#writeStatus(key, { ...deployment, status: { ...deployment.status, conditions } }, signal);
  }

  async #writeStatus(key: Key, deployment: Deployment, signal: AbortSignal): Promise<void> {
    const written = await this.#context.client.updateStatus(deploymentKind, deployment, { signal, metadataOnly: true });
    this.#writes.wrote(key, written, deployment);
  }

  #recordScaling(
    deployment: Deployment,
    set: ReplicaSet,
    { from, to }: { readonly from: number; readonly to: number },
  ): void {
    this.#recorder.record(deploymentKind, deployment, {
      type: 'Normal',
      reason: 'ScalingReplicaSet',
      message: `Scaled ${to > from ? 'up' : 'down'} replica set ${set.metadata.name} from ${from} to ${to}`,
    });
  }
}

const isEmpty = ({ create, update, remove, deployment }: DeploymentPlan): boolean =>
  create === undefined && update.length + remove.length === 0 && deployment === undefined;
