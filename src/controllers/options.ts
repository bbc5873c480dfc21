import type { Gates } from '../api/gates.ts';
import type { Clock } from '../client/clock.ts';
import type { LeaderElectionOptions } from '../client/leadership.ts';

/** Controllers of workloads, and the scheduler. Kubernetes has its own, so `*` does not include them. */
const workloadNames = [
  'deployment-controller',
  'replicaset-controller',
  'replicationcontroller-controller',
  'statefulset-controller',
  'daemonset-controller',
  'job-controller',
  'cronjob-controller',
  'ttl-after-finished-controller',
  'pod-garbage-collector-controller',
  'disruption-controller',
  'stored-kinds-controller',
  'scheduler',
] as const;

/** Controller names, as in kube-controller-manager. */
const controllerNames = [
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'node-lifecycle-controller',
  'taint-eviction-controller',
  'garbage-collector-controller',
  ...workloadNames,
] as const;

/** Stands for the controllers of workloads and the scheduler in a selection. */
const workloadsName = 'workloads';

export type ControllerName = (typeof controllerNames)[number];

/**
 * The default of concurrent syncs. kube-controller-manager has 5, but then the latency of writes limits the throughput; our
 * server commits concurrent writes in batches, with less CPU per write.
 */
export const defaultConcurrentSyncs = 32;

/** Options of the controllers; the defaults are those of kube-controller-manager, except for concurrency. */
export interface ControllersOptions {
  /**
   * Controllers to run: `foo` enables foo, `-foo` disables it, `*` enables all others but those of workloads, and
   * `workloads` enables these. Default `['*']`.
   */
  readonly controllers?: readonly string[];
  /** Default: all gates at their defaults. */
  readonly gates?: Gates;
  /** undefined: no leader election. The default Lease is `kube-system/fairlead-controllers`. */
  readonly leaderElection?: Partial<LeaderElectionOptions>;
  /** Concurrent syncs of EndpointSlices; default 32. */
  readonly concurrentServiceEndpointSyncs?: number;
  /** Concurrent syncs of Endpoints; default 32. */
  readonly concurrentEndpointSyncs?: number;
  /** Concurrent syncs of mirrored Endpoints; default 5. */
  readonly mirroringConcurrentServiceEndpointSyncs?: number;
  /** Concurrent syncs of the garbage collector; default 20. */
  readonly concurrentGcSyncs?: number;
  /** Maximum endpoints per slice, 1 to 1000; default 100. */
  readonly maxEndpointsPerSlice?: number;
  /** Maximum mirrored addresses per subset, 1 to 1000; default 1000. */
  readonly mirroringMaxEndpointsPerSubset?: number;
  /** Delay that batches changes of Pods; default 0. */
  readonly endpointUpdatesBatchPeriodMs?: number;
  /** Delay that batches changes of Endpoints to mirror; default 0. */
  readonly mirroringEndpointUpdatesBatchPeriodMs?: number;
  /** How many Pods that have finished are kept; default 12500. */
  readonly terminatedPodGcThreshold?: number;
  /** How long a node may not renew its Lease before it is not ready; default 50 s. */
  readonly nodeMonitorGracePeriodMs?: number;
  /** Whether nodes that never had a Lease are managed too; default false. */
  readonly managesAllNodes?: boolean;
  /** The clock that measures how long nodes have not reported. */
  readonly clock?: Clock;
}

const isIn = (names: readonly string[], text: string): boolean => names.includes(text);

/** Errors of a selection of controllers. */
export const selectionErrors = (selection: readonly string[]): readonly string[] =>
  selection
    .filter((item) => item !== '*' && !isIn([...controllerNames, workloadsName], item.replace(/^-/, '')))
    .map(
      (item) =>
        `there is no controller ${JSON.stringify(item)}: choose from ${controllerNames.join(', ')}, ${workloadsName} or *`,
    );

/** The selected controllers. A name wins over `workloads`, and both over `*`. */
export function selectedControllers(selection: readonly string[] = ['*']): ReadonlySet<ControllerName> {
  const runs = (name: ControllerName): boolean => {
    if (selection.includes(name)) return true;
    if (selection.includes(`-${name}`)) return false;
    if (!isIn(workloadNames, name)) return selection.includes('*');
    return selection.includes(workloadsName) && !selection.includes(`-${workloadsName}`);
  };
  return new Set(controllerNames.filter(runs));
}

/** Whether a selection includes a controller of workloads, which read more of each Pod. */
export const readsWholePods = (selected: ReadonlySet<ControllerName>): boolean =>
  workloadNames.some((name) => selected.has(name));
