// One Pod of this machine: observes, plans, acts, and writes its status.
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Client } from '../../client/client.ts';
import type { Outcome } from '../../client/queue.ts';
import type { PlannedEvent } from '../../client/event-correlator.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { Clock } from '../../client/clock.ts';
import type { Environment } from '../environment/variables.ts';
import type { Containers } from './containers.ts';
import type { CheckResult, Probe } from '../probes/check.ts';
import type { ProbedInstance, ProbeType } from '../probes/prober.ts';
import { Prober } from '../probes/prober.ts';
import { hasEnded, isSidecar, planPod } from './plan.ts';
import type { PodPlan } from './plan.ts';
import { recordOf } from './record.ts';
import { podStatus } from './status.ts';
import { statusPatch } from './status-patch.ts';

export interface WorkerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly containers: Containers;
  /** The addresses of the machine. */
  readonly hostIps: readonly string[];
  /** Gives the Pod its addresses. */
  readonly setUp: (pod: Pod, containers: Containers) => Promise<readonly string[]>;
  /** Writes its volumes. Returns when that is due again, in milliseconds since 1970. */
  readonly writeVolumes: (pod: Pod, podIps: readonly string[]) => Promise<number | undefined>;
  readonly environment: (pod: Pod, container: string, podIps: readonly string[]) => Promise<Environment>;
  /** Runs a hook of a container; a failure is reported. Whether it succeeded. */
  readonly hook: (pod: Pod, container: string, type: 'preStop' | 'postStart', signal: AbortSignal) => Promise<boolean>;
  readonly check: (pod: Pod, container: string, probe: Probe, podIps: readonly string[]) => Promise<CheckResult>;
  readonly reportProbe: (pod: Pod, container: string, event: PlannedEvent) => void;
  readonly report: (pod: Pod, event: PlannedEvent) => void;
  /** Called when no process of the Pod runs and none will be started. */
  readonly over: () => void;
  /** Called when nothing of the Pod is left on the machine and in the API. */
  readonly finished: () => Promise<void>;
}

/** How long to wait before a Pod that could not be set up is tried again. */
const retryMs = 2000;

/** A reason why a Pod cannot be set up yet. */
export class SetUpError extends Error {
  /** The reason of the Event. */
  readonly reason: string;

  constructor(message: string, reason: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

export class PodWorker {
  readonly #options: WorkerOptions;
  readonly containers: Containers;
  /** undefined: its object is unknown, because it was deleted while no agent ran. */
  #pod: Pod | undefined;
  #isGone = false;
  #endingSince: number | undefined;
  /** Its addresses; undefined: it is not set up. */
  #podIps: readonly string[] | undefined;
  #isFinished = false;
  /** Its addresses, before its volumes are written. */
  #ips: readonly string[] | undefined;
  /** When the volumes are written next, in milliseconds since 1970. */
  #volumesDueAt = 0;
  readonly #prober: Prober;

  constructor(options: WorkerOptions, pod: Pod | undefined) {
    this.#options = options;
    this.containers = options.containers;
    this.#pod = pod;
    this.#isGone = pod === undefined;
    this.#prober = new Prober({
      clock: options.clock,
      check: async ({ container }, probe) =>
        this.#pod === undefined
          ? { outcome: 'unknown', output: '' }
          : options.check(this.#pod, container.name, probe, this.podIps),
      onVerdict: (instance, type, verdict) => this.#onVerdict(instance, type, verdict),
      onResult: (instance, type, result) => this.#onResult(instance, type, result),
    });
  }

  /** The Pod with the status in the API, or the newer one that was written last. */
  get pod(): Pod | undefined {
    return this.#pod;
  }

  get podIps(): readonly string[] {
    return this.#podIps ?? [];
  }

  /** Takes a new version of the object. */
  set(pod: Pod): void {
    if (this.#pod === undefined || isNewer(pod, this.#pod)) this.#pod = pod;
  }

  /** The object no longer exists. */
  gone(): void {
    this.#isGone = true;
  }

  /** Does what is due now. */
  async reconcile(signal: AbortSignal): Promise<Outcome> {
    if (this.#isFinished) return undefined;
    const pod = this.#pod;
    if (pod === undefined) return this.#endUnknown();
    const { clock } = this.#options;
    if (!this.#isGone && !hasEnded(pod)) await this.#setUp(pod);
    let plan = this.#plan(pod);
    if (plan.failure !== undefined) {
      await this.containers.update({ failure: plan.failure });
      plan = this.#plan(pod);
    }
    if (plan.stop.length > 0) this.#endingSince ??= clock.now();
    for (const { container, graceSeconds } of plan.stop) {
      this.containers.stop(container, graceSeconds, (stop) =>
        this.#isGone ? Promise.resolve() : this.#preStop(pod, container, stop),
      );
    }
    for (const name of plan.start) await this.#start(pod, name);
    if (plan.start.length > 0) plan = this.#plan(pod);
    if (!this.#isGone && !hasEnded(pod)) await this.#writeStatus(plan, signal);
    this.#probe(pod);
    if (plan.isOver) this.#options.over();
    if (plan.isOver && (this.#isGone || pod.metadata.deletionTimestamp !== undefined)) return this.#finish(pod, signal);
    const wakeAt = Math.min(plan.start.length > 0 ? clock.now() : (plan.wakeAt ?? Infinity), this.#volumesDueAt);
    return wakeAt === Infinity ? undefined : { requeueAfterMs: Math.max(0, wakeAt - clock.now()) };
  }

  #plan(pod: Pod): PodPlan {
    return planPod({
      pod,
      record: this.containers.record,
      isSetUp: this.#podIps !== undefined,
      isGone: this.#isGone,
      endingSince: this.#endingSince,
      stopping: this.containers.stopping,
      now: this.#options.clock.now(),
    });
  }

  /** Sets the Pod up, and updates its volumes when that is due. */
  async #setUp(pod: Pod): Promise<void> {
    const { clock } = this.#options;
    if (this.#volumesDueAt > clock.now()) return;
    try {
      this.#ips ??= await this.#options.setUp(pod, this.containers);
      this.#volumesDueAt = Infinity; // what changes from now on is due again
      const dueAt = (await this.#options.writeVolumes(pod, this.#ips)) ?? Infinity;
      this.#volumesDueAt = Math.min(this.#volumesDueAt, dueAt);
      this.#podIps = this.#ips;
    } catch (error) {
      this.#volumesDueAt = clock.now() + retryMs;
      if (!(error instanceof SetUpError)) throw error;
      this.#options.report(pod, { type: 'Warning', reason: error.reason, message: error.message });
    }
  }

  /** Its namespaces are lost. */
  setUpAgain(): void {
    this.#ips = undefined;
    this.#podIps = undefined;
    this.#volumesDueAt = 0;
  }

  /** Something that the Pod refers to has changed. */
  sourcesChanged(): void {
    this.#volumesDueAt = 0;
    this.containers.retryStarts();
  }

  async #start(pod: Pod, name: string): Promise<void> {
    const { initContainers = [], containers } = pod.spec;
    const container = [...initContainers, ...(containers ?? [])].find((each) => each.name === name);
    if (container === undefined) throw new Error(`bug: the plan starts "${name}", which the Pod does not have`);
    await this.containers.start(pod, container, () => this.#options.environment(pod, name, this.podIps));
    if (container.lifecycle?.postStart !== undefined) void this.#postStart(pod, name); // it does not reject
  }

  async #postStart(pod: Pod, name: string): Promise<void> {
    const { current } = recordOf(this.containers.record, name);
    if (current === undefined || current.ended !== undefined) return;
    const over = new AbortController();
    void this.containers.process(name)?.exited.then(() => over.abort());
    const isDone = await this.#options.hook(pod, name, 'postStart', over.signal);
    if (isDone) return this.containers.setHealth(name, current.id, { isStarting: false });
    const grace = pod.spec.terminationGracePeriodSeconds ?? 30;
    this.containers.stop(name, grace, () => Promise.resolve(), 'FailedPostStartHook');
  }

  async #preStop(pod: Pod, name: string, signal: AbortSignal): Promise<void> {
    await this.#options.hook(pod, name, 'preStop', signal);
  }

  /** Probes the containers that run. */
  #probe(pod: Pod): void {
    const { initContainers = [], containers } = pod.spec;
    const probed = [...initContainers.filter(isSidecar), ...(containers ?? [])];
    const isEnding = this.#isGone || pod.metadata.deletionTimestamp !== undefined;
    this.#prober.sync(
      probed.flatMap((container): ProbedInstance[] => {
        const { current } = recordOf(this.containers.record, container.name);
        if (current === undefined || current.ended !== undefined || current.isStarting === true) return [];
        const { id, startedAt, isStarted, isReady } = current;
        const isStopping = isEnding || this.containers.isStopping(container.name);
        return [{ container, id, startedAt, isStarted, isReady, isEnding: isStopping }];
      }),
    );
  }

  #onVerdict({ container, id }: ProbedInstance, type: ProbeType, verdict: 'success' | 'failure'): void {
    const { name } = container;
    const isGood = verdict === 'success';
    if (type === 'readiness') void this.containers.setHealth(name, id, { isReady: isGood });
    else if (type === 'startup' && isGood) void this.containers.setHealth(name, id, { isStarted: true });
    else if (!isGood && this.#pod !== undefined) {
      const pod = this.#pod;
      const probe = type === 'startup' ? container.startupProbe : container.livenessProbe;
      const grace = probe?.terminationGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30;
      const message = `Container ${name} failed ${type} probe, will be restarted`;
      this.containers.stop(name, grace, (signal) => this.#preStop(pod, name, signal), message);
    }
  }

  #onResult({ container: { name } }: ProbedInstance, type: ProbeType, { outcome, output, warning }: CheckResult): void {
    if (this.#pod === undefined) return;
    const title = `${type[0]?.toUpperCase()}${type.slice(1)} probe`;
    this.#options.reportProbe(this.#pod, name, {
      type: 'Warning',
      reason: outcome === 'failure' ? 'Unhealthy' : 'ProbeWarning',
      message: outcome === 'failure' ? `${title} failed: ${output}` : `${title} warning: ${warning}`,
    });
  }

  /** Ends probes. Processes continue. */
  async release(): Promise<void> {
    this.endProbes();
    await this.containers.release();
  }

  /** Ends probes, for Pods that are stopped with their agent. */
  endProbes(): void {
    this.#prober.close();
  }

  async #writeStatus(plan: PodPlan, signal: AbortSignal): Promise<void> {
    const pod = this.#pod;
    if (pod === undefined) return;
    const { client, clock, hostIps } = this.#options;
    const status = podStatus({
      pod,
      record: this.containers.record,
      isSetUp: this.#podIps !== undefined,
      isOver: plan.isOver,
      hostIps,
      podIps: this.podIps,
      now: clock.now(),
    });
    const body = statusPatch(pod, status);
    if (body === undefined) return;
    const { namespace, name = '' } = pod.metadata;
    try {
      const written = await client.patch(
        podKind,
        { namespace, name },
        { body, type: 'strategic', subresource: 'status', signal },
      );
      this.set(written);
    } catch (error) {
      // Deleted, or replaced by another Pod: the informer will report it.
      if (!hasStatusCode(error, 404) && !hasStatusCode(error, 409)) throw error;
    }
  }

  async #finish(pod: Pod, signal: AbortSignal): Promise<void> {
    const { namespace, name = '', uid = '' } = pod.metadata;
    if (!this.#isGone) {
      const options = { gracePeriodSeconds: 0, preconditions: { uid }, signal };
      try {
        await this.#options.client.delete(podKind, { namespace, name }, options);
      } catch (error) {
        if (!hasStatusCode(error, 409)) throw error; // another Pod has its name
      }
    }
    this.#isFinished = true;
    this.#prober.close();
    await this.#options.finished();
  }

  /** Ends processes of a Pod that was deleted while no agent ran. */
  async #endUnknown(): Promise<Outcome> {
    const running = Object.entries(this.containers.record.containers).filter(
      ([, { current }]) => current !== undefined && current.ended === undefined,
    );
    for (const [name] of running) this.containers.stop(name, 1, () => Promise.resolve());
    if (running.length > 0) return undefined; // their ends enqueue it again
    this.#isFinished = true;
    this.#prober.close();
    await this.#options.finished();
    return undefined;
  }
}

/** Revisions of one object can be compared. */
const isNewer = (pod: Pod, than: Pod): boolean =>
  BigInt(pod.metadata.resourceVersion ?? '0') >= BigInt(than.metadata.resourceVersion ?? '0');
