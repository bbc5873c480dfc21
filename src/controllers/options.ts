import type { Gates } from '../api/gates.ts';
import type { Clock } from '../client/clock.ts';
import type { LeaderElectionOptions } from '../client/leadership.ts';

/** Controller names, as in kube-controller-manager. */
const controllerNames = [
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'node-lifecycle-controller',
  'taint-eviction-controller',
  'garbage-collector-controller',
] as const;

export type ControllerName = (typeof controllerNames)[number];

/**
 * The default of concurrent syncs. kube-controller-manager has 5, but then the latency of writes limits the throughput; our
 * server commits concurrent writes in batches, with less CPU per write.
 */
export const defaultConcurrentSyncs = 32;

/** Options of the controllers; the defaults are those of kube-controller-manager, except for concurrency. */
export interface ControllersOptions {
  /** Controllers to run: `foo` enables foo, `-foo` disables it, `*` enables all others. Default `['*']`. */
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
  /** How long a node may not renew its Lease before it is not ready; default 50 s. */
  readonly nodeMonitorGracePeriodMs?: number;
  /** The clock that measures how long nodes have not reported. */
  readonly clock?: Clock;
}

const isName = (text: string): text is ControllerName => (controllerNames as readonly string[]).includes(text);

/** Errors of a selection of controllers. */
export const selectionErrors = (selection: readonly string[]): readonly string[] =>
  selection
    .filter((item) => item !== '*' && !isName(item.replace(/^-/, '')))
    .map((item) => `there is no controller ${JSON.stringify(item)}: choose from ${controllerNames.join(', ')}, or *`);

/** The selected controllers. An explicit name wins over `*`. */
export function selectedControllers(selection: readonly string[] = ['*']): ReadonlySet<ControllerName> {
  const runs = (name: ControllerName): boolean =>
    selection.includes(name) || (!selection.includes(`-${name}`) && selection.includes('*'));
  return new Set(controllerNames.filter(runs));
}
