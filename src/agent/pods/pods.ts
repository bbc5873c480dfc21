// All Pods of this machine.
import type { Logger } from 'pino';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { getOrCompute } from '../../api/maps.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { logRetry } from '../../client/controller.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Informer } from '../../client/informer.ts';
import type { QueueObserver } from '../../client/queue.ts';
import { WorkQueue } from '../../client/queue.ts';
import { setTimeout } from '../../machine/timers.ts';
import type { PodFacts } from '../environment/fields.ts';
import type { Environment } from '../environment/variables.ts';
import { environmentOf, namedContainer } from '../environment/variables.ts';
import type { AgentOptions } from '../options.ts';
import type { CheckTarget } from '../probes/check.ts';
import { check, maxOutputBytes } from '../probes/check.ts';
import { collect } from '../processes/collect.ts';
import { execBeside } from '../processes/exec.ts';
import type { ProcessCalls } from '../processes/native.ts';
import { killStragglers } from '../processes/stragglers.ts';
import { VolumeError } from '../volumes/files.ts';
import { PodVolumes } from '../volumes/volumes.ts';
import { contains, parseAddress, parseCidr } from '../../api/addresses.ts';
import { messageOf } from '../../api/error-message.ts';
import { anchorInstance } from '../sandbox/anchor.ts';
import { launcherEnvironment } from '../processes/launch.ts';
import { gatewayOf } from '../sandbox/link.ts';
import { Sandboxes } from '../sandbox/sandboxes.ts';
import { instanceVariable } from '../processes/main-process.ts';
import { AddressPool } from './address-pool.ts';
import { Containers } from './containers.ts';
import { runHook } from './hooks.ts';
import { localRuntime } from './local-runtime.ts';
import { ObjectWatches } from './object-watches.ts';
import type { PodRecord } from './record.ts';
import { newRecord } from './record.ts';
import type { RecordStore } from './record-store.ts';
import type { Runtime } from './runtime.ts';
import { PodWorker, SetUpError } from './worker.ts';

export interface PodsOptions {
  readonly agent: AgentOptions;
  /** The range of addresses of Pods; undefined: they have that of the machine. */
  readonly podRange: string | undefined;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly calls: ProcessCalls;
  readonly store: RecordStore;
  readonly recorder: EventRecorder;
  readonly pods: Informer<Pod>;
  readonly services: Informer<Service>;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly observer: QueueObserver;
}

/** The annotation of Pods that stand for what runs already. */
const mirrorAnnotation = 'kubernetes.io/config.mirror';
/** Pods that are reconciled at once. */
const concurrentSyncs = 16;
/** How long to collect instances whose processes may have left their session. */
const sweepDelayMs = 200;
/** How long processes may take to end when the agent stops them all. */
const stopMs = 5000;

export class Pods {
  readonly #options: PodsOptions;
  readonly #workers = new Map<string, PodWorker>();
  readonly #queue: WorkQueue;
  readonly #addresses: AddressPool | undefined;
  readonly #sandboxes: Sandboxes | undefined;
  readonly #watches: ObjectWatches;
  /** UID → its volumes. */
  readonly #volumes = new Map<string, PodVolumes>();
  #endedInstances = new Set<string>();
  #isStopped = false;

  constructor(options: PodsOptions) {
    this.#options = options;
    const { client, clock, log, podRange } = options;
    this.#addresses = podRange === undefined ? undefined : new AddressPool(podRange);
    this.#sandboxes = podRange === undefined ? undefined : this.#newSandboxes(podRange);
    this.#watches = new ObjectWatches({ client, clock, log, changed: (uids) => this.#sourcesChanged(uids) });
    this.#queue = new WorkQueue({
      work: async (uid, signal) => this.#workers.get(uid)?.reconcile(signal),
      workers: concurrentSyncs,
      observer: options.observer,
      onError: logRetry(options.log, 'agent'),
      clock: options.clock,
    });
  }

  /** The number of Pods whose processes may run. */
  get size(): number {
    return this.#workers.size;
  }

  /** The view of the agent's server. */
  runtime(): Runtime {
    return localRuntime(() => this.#workers.values(), this.#options.calls);
  }

  /** Adopts the processes of an earlier agent, then runs Pods until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const { pods, services, store, log } = this.#options;
    const { records, damaged } = await store.load();
    await this.#sandboxes?.start();
    await Promise.all([pods.synced(signal), services.synced(signal)]);
    const known = new Map(pods.list().map((pod) => [pod.metadata.uid ?? '', pod]));
    const lost: string[] = [];
    for (const record of records) {
      if (record.ip !== undefined) this.#addresses?.take(record.ip);
      const worker = this.#add(record, known.get(record.uid));
      if (record.sandbox !== undefined) this.#sandboxes?.adopt(record.uid, record.sandbox);
      await worker.containers.adopt();
      const { containers } = worker.containers.record;
      for (const { current } of Object.values(containers)) if (current?.ended !== undefined) lost.push(current.id);
    }
    for (const uid of damaged) {
      log.warn({ pod: uid }, 'the record of a Pod cannot be read, and is removed');
      lost.push(anchorInstance(uid));
      await store.remove(uid);
    }
    await killStragglers(new Set(lost));
    const unsubscribe = pods.subscribe({
      added: (pod) => this.#set(pod),
      updated: (pod) => this.#set(pod),
      deleted: (pod) => this.#delete(pod),
    });
    for (const uid of this.#workers.keys()) this.#queue.add(uid);
    await this.#queue.run(signal);
    unsubscribe();
  }

  /** After `run`: stops all processes, or leaves them to the next agent. */
  async close(): Promise<void> {
    this.#isStopped = true;
    this.#watches.close();
    const workers = [...this.#workers.values()];
    if (this.#options.agent.stopsPods) {
      await Promise.all(workers.map((worker) => stopNow(worker)));
      for (const uid of this.#workers.keys()) this.#sandboxes?.close(uid);
    } else {
      await Promise.all(workers.map((worker) => worker.release()));
      this.#sandboxes?.release();
    }
  }

  #set(pod: Pod): void {
    const { uid = '', annotations } = pod.metadata;
    if (annotations?.[mirrorAnnotation] !== undefined) return; // stands for a registered process
    const worker = this.#workers.get(uid) ?? this.#add(newRecord(pod, this.#options.clock.now()), pod);
    worker.set(pod);
    this.#queue.add(uid);
  }

  #delete({ metadata: { uid = '' } }: Pod): void {
    this.#workers.get(uid)?.gone();
    this.#queue.add(uid);
  }

  #add(record: PodRecord, pod: Pod | undefined): PodWorker {
    const { agent, client, clock, calls, store, recorder, log } = this.#options;
    const { uid } = record;
    const containers = new Containers(
      {
        calls,
        clock,
        images: agent.images,
        directory: store.directoryOf(uid),
        logLimits: agent.logLimits,
        diesWithAgent: agent.stopsPods,
        launcher: this.#launcher(),
        inherited: agent.environment,
        save: (next) => store.save(next),
        unsaved: (error) => log.warn({ pod: uid, err: error }, 'could not write the record of a Pod'),
        record: ({ container, ...event }) => {
          const about = this.#workers.get(uid)?.pod;
          if (about !== undefined) recorder.record(podKind, about, event, `spec.containers{${container}}`);
        },
        changed: () => {
          if (!this.#isStopped) this.#queue.add(uid);
        },
        ended: (instance) => this.#sweepLater(instance),
      },
      record,
    );
    const worker = new PodWorker(
      {
        client,
        clock,
        containers,
        hostIps: agent.addresses,
        setUp: (of, its) => this.#setUp(of, its),
        writeVolumes: (of, podIps) => this.#writeVolumes(of, podIps),
        environment: async (of, container, podIps) => this.#environment(of, container, podIps),
        hook: (of, name, type, signal) => this.#hook(of, name, type, signal),
        check: (of, name, probe) => check(probe, this.#target(of, name), (probe.timeoutSeconds ?? 1) * 1000),
        reportProbe: (of, name, event) => recorder.record(podKind, of, event, `spec.containers{${name}}`),
        report: (about, event) => recorder.record(podKind, about, event),
        over: () => this.#sandboxes?.close(uid),
        finished: () => this.#remove(uid),
      },
      pod,
    );
    this.#workers.set(uid, worker);
    return worker;
  }

  /** Gives the Pod its addresses. */
  async #setUp(pod: Pod, containers: Containers): Promise<readonly string[]> {
    const { agent } = this.#options;
    if (this.#addresses === undefined || pod.spec.hostNetwork === true) {
      await containers.update({});
      return agent.addresses;
    }
    const { ip: known } = containers.record;
    const ip = known !== undefined && this.#isInRange(known) ? known : this.#addresses.allocate();
    if (ip === undefined)
      throw new SetUpError('all addresses of the range of this machine are in use', 'FailedCreatePodSandBox');
    if (ip !== known) await containers.update({ ip });
    await this.#openSandbox(pod, containers, ip);
    return [ip];
  }

  #isInRange(ip: string): boolean {
    const [range, address] = [parseCidr(this.#options.podRange ?? ''), parseAddress(ip)];
    return range !== undefined && address !== undefined && contains(range, address);
  }

  #newSandboxes(cidr: string): Sandboxes | undefined {
    const { agent, calls, services, store } = this.#options;
    const { network, stopsPods } = agent;
    if (network.mode !== 'netns') return undefined;
    this.#addresses?.take(gatewayOf(cidr));
    return new Sandboxes({
      calls,
      cidr,
      clusterDns: () => {
        const service = services
          .list()
          .find(({ metadata }) => metadata.namespace === 'kube-system' && metadata.name === 'kube-dns');
        return network.clusterDns.length > 0 ? network.clusterDns : (service?.spec.clusterIPs ?? []);
      },
      clusterDomain: network.clusterDomain,
      directoryOf: (uid) => store.directoryOf(uid),
      diesWithAgent: stopsPods,
      lost: (uid) => this.#sandboxLost(uid),
    });
  }

  /** Creates the namespaces of a Pod, unless it has them. Its processes in other ones are started again. */
  async #openSandbox(pod: Pod, containers: Containers, ip: string): Promise<void> {
    const sandboxes = this.#sandboxes;
    if (sandboxes === undefined || sandboxes.namespacesOf(containers.record.uid) !== undefined) return;
    containers.kill();
    try {
      await containers.update({ sandbox: await sandboxes.open(pod, ip) });
    } catch (error) {
      throw new SetUpError(`Failed to create pod sandbox: ${messageOf(error)}`, 'FailedCreatePodSandBox', {
        cause: error,
      });
    }
  }

  /** Somebody ended what kept the namespaces: the Pod is set up again. */
  #sandboxLost(uid: string): void {
    const worker = this.#workers.get(uid);
    if (worker === undefined || this.#isStopped) return;
    if (worker.pod !== undefined) {
      const message = 'Pod sandbox changed, it will be killed and re-created.';
      this.#options.recorder.record(podKind, worker.pod, { type: 'Normal', reason: 'SandboxChanged', message });
    }
    worker.setUpAgain();
    this.#queue.add(uid);
  }

  /** Starts containers in the namespaces of their Pod; undefined: they have those of the machine. */
  #launcher(): ConstructorParameters<typeof Containers>[0]['launcher'] {
    const sandboxes = this.#sandboxes;
    if (sandboxes === undefined) return undefined;
    return async (pod, container, start) => {
      const volumes = this.#volumesOf(pod).paths(pod);
      const env = { ...launcherEnvironment, [instanceVariable]: start.env[instanceVariable] ?? '' };
      return { argv: await sandboxes.launcher(pod, container, { ...start, volumes }), env };
    };
  }

  #facts(podIps: readonly string[]): PodFacts {
    const { agent, allocatable } = this.#options;
    return { podIps, hostIps: agent.addresses, nodeName: agent.nodeName, allocatable };
  }

  async #environment(pod: Pod, name: string, podIps: readonly string[]): Promise<Environment> {
    const container = namedContainer(pod, name);
    const mountPaths = (container.volumeMounts ?? []).map(
      ({ name: volume, mountPath }) => [volume, mountPath] as const,
    );
    return environmentOf({
      pod,
      container,
      facts: this.#facts(podIps),
      services: this.#options.services.list(),
      objects: await this.#watches.use(pod),
      volumes: this.#sandboxes === undefined ? this.#volumesOf(pod).paths(pod) : new Map(mountPaths.toReversed()),
    });
  }

  async #writeVolumes(pod: Pod, podIps: readonly string[]): Promise<number | undefined> {
    const objects = await this.#watches.use(pod);
    await this.#sandboxes?.writeNames(pod, podIps);
    try {
      return await this.#volumesOf(pod).write(pod, { facts: this.#facts(podIps), objects });
    } catch (error) {
      throw error instanceof VolumeError ? new SetUpError(error.message, 'FailedMount', { cause: error }) : error;
    }
  }

  #volumesOf({ metadata: { uid = '' } }: Pod): PodVolumes {
    const { client, clock, store, agent } = this.#options;
    const directory = store.directoryOf(uid);
    return getOrCompute(
      this.#volumes,
      uid,
      () => new PodVolumes({ client, clock, directory, allowsHostPaths: agent.allowsHostPaths }),
    );
  }

  #sourcesChanged(uids: Iterable<string>): void {
    for (const uid of uids) {
      this.#workers.get(uid)?.sourcesChanged();
      this.#queue.add(uid);
    }
  }

  async #hook(pod: Pod, name: string, type: 'preStop' | 'postStart', signal: AbortSignal): Promise<boolean> {
    const hook = namedContainer(pod, name).lifecycle?.[type];
    if (hook === undefined) return true;
    const problem = await runHook(hook, this.#target(pod, name), { clock: this.#options.clock, signal });
    if (problem === undefined) return true;
    const reason = type === 'preStop' ? 'FailedPreStopHook' : 'FailedPostStartHook';
    const event = { type: 'Warning' as const, reason, message: `${type} hook failed: ${problem}` };
    this.#options.recorder.record(podKind, pod, event, `spec.containers{${name}}`);
    return false;
  }

  /** What checks and hooks need about a container. */
  #target(pod: Pod, name: string): CheckTarget {
    const worker = this.#workers.get(pod.metadata.uid ?? '');
    return {
      podIp: worker?.podIps[0] ?? '',
      ports: namedContainer(pod, name).ports,
      exec: async (command, signal) => {
        const pid = worker?.containers.process(name)?.pid;
        if (pid === undefined) throw new Error('the container is not running');
        const options = { stdin: false, tty: false };
        return collect(await execBeside(this.#options.calls, pid, command, options), maxOutputBytes, signal);
      },
    };
  }

  async #remove(uid: string): Promise<void> {
    const worker = this.#workers.get(uid);
    const { ip } = worker?.containers.record ?? {};
    this.#sandboxes?.close(uid);
    await this.#options.store.remove(uid);
    if (ip !== undefined) this.#addresses?.release(ip);
    this.#workers.delete(uid);
    this.#volumes.delete(uid);
    this.#watches.drop(uid);
  }

  #sweepLater(instance: string): void {
    if (this.#endedInstances.size === 0) {
      setTimeout(() => {
        const ids = this.#endedInstances;
        this.#endedInstances = new Set();
        void killStragglers(ids); // it never rejects
      }, sweepDelayMs).unref();
    }
    this.#endedInstances.add(instance);
  }
}

/** Ends the processes of a Pod, without changing the Pod in the API. */
async function stopNow(worker: PodWorker): Promise<void> {
  worker.endProbes(); // nobody reads that an ending process is not ready
  const { containers } = worker;
  const processes = Object.keys(containers.record.containers).flatMap((name) => containers.process(name) ?? []);
  await Promise.all(
    processes.map(async (process) => {
      process.signal('SIGTERM');
      const timer = setTimeout(() => process.kill(), stopMs);
      await process.exited;
      clearTimeout(timer);
    }),
  );
}
