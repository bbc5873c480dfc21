import type { Kind } from '../api/kind.ts';
import { gatesWith } from '../api/gates.ts';
import { runElectedPart } from '../client/part.ts';
import { EventRecorder } from '../client/events.ts';
import { Informers } from '../client/informers.ts';
import type { PartContext, RunningPart } from '../client/part.ts';
import { queueMetrics } from '../client/queue-metrics.ts';
import { WatchErrors } from '../client/watch-errors.ts';
import type { Cache } from './caches.ts';
import { Caches } from './caches.ts';
import type { ControllerContext } from './context.ts';
import { runEndpoints } from './endpoints/controller.ts';
import { runEndpointSlices } from './endpointslice/controller.ts';
import { runGarbageCollector } from './garbage/controller.ts';
import { ServedKinds } from './garbage/served-kinds.ts';
import { controllersMetrics } from './metrics.ts';
import { runMirroring } from './mirroring/controller.ts';
import { runNodeLifecycle } from './nodes/controller.ts';
import { runTaintEviction } from './taints/controller.ts';
import type { ControllerName, ControllersOptions } from './options.ts';
import { readsWholePods, selectedControllers, selectionErrors } from './options.ts';
import { runScheduler } from './scheduler/controller.ts';
import { WorkloadCaches } from './workloads/caches.ts';
import { runCronJobs } from './workloads/cronjob/controller.ts';
import { runDaemonSets } from './workloads/daemonset/controller.ts';
import { runDeployments } from './workloads/deployment/controller.ts';
import { runDisruption } from './workloads/disruption/controller.ts';
import { runJobs } from './workloads/job/controller.ts';
import { runPodGarbageCollector } from './workloads/podgc/controller.ts';
import { runReplicaSets, runReplicationControllers } from './workloads/replicaset/controller.ts';
import { runStatefulSets } from './workloads/statefulset/controller.ts';
import { runStoredKinds, storedKinds } from './workloads/storedkinds/controller.ts';
import { runTtlAfterFinished } from './workloads/ttl/controller.ts';

export type { ControllersOptions } from './options.ts';

/**
 * Runs the controllers of Services and the garbage collector until it is disposed of. With leader election, only the leader
 * reconciles; the other replicas keep their caches synced.
 */
export function startControllers(part: PartContext, options: ControllersOptions = {}): RunningPart {
  const [problem] = selectionErrors(options.controllers ?? ['*']);
  if (problem !== undefined) throw new Error(problem);
  return new Controllers(part, options).start();
}

class Controllers {
  readonly #context: ControllerContext;
  readonly #informers: Informers;
  readonly #selected: ReadonlySet<ControllerName>;
  readonly #kinds: ServedKinds;
  readonly #discovery: WatchErrors;
  readonly #part: PartContext;
  /** Component → recorder, which is kept across terms. */
  readonly #recorders = new Map<string, EventRecorder>();

  constructor(part: PartContext, options: ControllersOptions) {
    const { client, log, metrics: registry } = part;
    this.#part = part;
    this.#informers = new Informers({ client, log });
    this.#selected = selectedControllers(options.controllers);
    const caches = new Caches(this.#informers, { wholePods: readsWholePods(this.#selected) });
    const workloads = new WorkloadCaches(this.#informers);
    const metrics = controllersMetrics(registry);
    const observer = queueMetrics(registry);
    const gates = options.gates ?? gatesWith();
    const recorder = (component: string): EventRecorder => this.#recorder(component);
    const interruptions = (kind: Kind): number => this.#informers.interruptions(kind);
    this.#context = { client, caches, workloads, gates, options, metrics, log, interruptions, recorder, observer };
    this.#discovery = new WatchErrors(log);
    const onError = (error: unknown): void => this.#discovery.failed('discovery', error);
    const onSuccess = (): void => this.#discovery.recovered('discovery');
    this.#kinds = new ServedKinds({ client, caches, onError, onSuccess });
  }

  start(): RunningPart {
    const { options } = this.#context;
    const { leaderElection } = options;
    const collects = this.#selected.has('garbage-collector-controller');
    this.#startCaches();
    return runElectedPart({
      context: this.#part,
      informers: this.#informers,
      election: leaderElection && { namespace: 'kube-system', name: 'fairlead-controllers', ...leaderElection },
      lead: (term) => this.#lead(term),
      ...(collects
        ? { onEveryReplica: (signal) => this.#kinds.run(signal), synced: (signal) => this.#kinds.synced(signal) }
        : {}),
      problems: () => [...this.#informers.failing(), ...this.#discovery.recent()],
      recorders: () => this.#recorders.values(),
    });
  }

  /** Starts the caches of the selected controllers. The garbage collector starts its own after discovery. */
  #startCaches(): void {
    const { caches, workloads } = this.#context;
    const { deployments, replicaSets, replicationControllers, statefulSets, daemonSets } = workloads;
    const { revisions, jobs, cronJobs, budgets, namespaces } = workloads;
    const { services, pods, nodes, slices, endpoints, nodeLeases } = caches;
    const read: Readonly<Record<ControllerName, readonly Cache[]>> = {
      'endpoints-controller': [services, pods, endpoints],
      'endpointslice-controller': [services, pods, nodes, slices],
      'endpointslice-mirroring-controller': [services, endpoints, slices],
      'node-lifecycle-controller': [nodes, nodeLeases],
      'taint-eviction-controller': [nodes, pods],
      'garbage-collector-controller': [],
      'deployment-controller': [deployments, replicaSets, pods],
      'replicaset-controller': [replicaSets, pods],
      'replicationcontroller-controller': [replicationControllers, replicaSets, pods],
      'statefulset-controller': [statefulSets, revisions, pods],
      'daemonset-controller': [daemonSets, revisions, pods, nodes],
      'job-controller': [jobs, pods],
      'cronjob-controller': [cronJobs, jobs],
      'ttl-after-finished-controller': [jobs],
      'pod-garbage-collector-controller': [pods, nodes],
      'disruption-controller': [budgets, pods, deployments, replicaSets, statefulSets, replicationControllers],
      'stored-kinds-controller': storedKinds.map((kind) => caches.of(kind)),
      scheduler: [pods, nodes, namespaces, budgets],
    };
    for (const name of this.#selected) for (const cache of read[name]) caches.run(cache);
  }

  /** Runs the selected controllers for one term. */
  async #lead(term: AbortSignal): Promise<void> {
    const context = this.#context;
    const runs: Readonly<Record<ControllerName, () => Promise<void>>> = {
      'endpoints-controller': () => runEndpoints(context, term),
      'endpointslice-controller': () => runEndpointSlices(context, term),
      'endpointslice-mirroring-controller': () => runMirroring(context, term),
      'node-lifecycle-controller': () => runNodeLifecycle(context, term),
      'taint-eviction-controller': () => runTaintEviction(context, term),
      'garbage-collector-controller': () => runGarbageCollector(context, this.#kinds, term),
      'deployment-controller': () => runDeployments(context, term),
      'replicaset-controller': () => runReplicaSets(context, term),
      'replicationcontroller-controller': () => runReplicationControllers(context, term),
      'statefulset-controller': () => runStatefulSets(context, term),
      'daemonset-controller': () => runDaemonSets(context, term),
      'job-controller': () => runJobs(context, term),
      'cronjob-controller': () => runCronJobs(context, term),
      'ttl-after-finished-controller': () => runTtlAfterFinished(context, term),
      'pod-garbage-collector-controller': () => runPodGarbageCollector(context, term),
      'disruption-controller': () => runDisruption(context, term),
      'stored-kinds-controller': () => runStoredKinds(context, term),
      scheduler: () => runScheduler(context, term),
    };
    await Promise.all(Array.from(this.#selected, (name) => runs[name]()));
  }

  #recorder(component: string): EventRecorder {
    const known = this.#recorders.get(component);
    if (known !== undefined) return known;
    const { client, log } = this.#context;
    const recorder = new EventRecorder({ client, component, log });
    this.#recorders.set(component, recorder);
    return recorder;
  }
}
