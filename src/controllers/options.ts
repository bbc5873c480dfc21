import type { Gates } from '../api/gates.ts';
import type { LeaderElectionOptions } from '../client/leadership.ts';

/** The controllers there are, by the names that kube-controller-manager has for them. */
const controllerNames = [
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'garbage-collector-controller',
] as const;

export type ControllerName = (typeof controllerNames)[number];

/**
 * How many Services are looked after at once, where nothing else is said. kube-controller-manager has 5, and is held up by
 * the wait for each write; the server writes what comes together at once, at less CPU for each.
 */
export const defaultConcurrentSyncs = 32;

/** What can be said about the controllers; the defaults are kube-controller-manager's but for concurrency. */
export interface ControllersOptions {
  /** Which to run: `foo`, `-foo` for not foo, `*` for all that are not named. Default `['*']`. */
  readonly controllers?: readonly string[];
  /** Default: every gate at its default. */
  readonly gates?: Gates;
  /** Left out: it is the only process and acts at once. The Lease is `fairlead-controllers` in `kube-system` by default. */
  readonly leaderElection?: Partial<LeaderElectionOptions>;
  /** How many Services have their slices kept at once; default 32. */
  readonly concurrentServiceEndpointSyncs?: number;
  /** How many Services have their Endpoints kept at once; default 32. */
  readonly concurrentEndpointSyncs?: number;
  /** How many Endpoints are mirrored at once; default 5. */
  readonly mirroringConcurrentServiceEndpointSyncs?: number;
  /** How many objects are collected at once; default 20. */
  readonly concurrentGcSyncs?: number;
  /** How many endpoints a slice holds, 1 to 1000; default 100. */
  readonly maxEndpointsPerSlice?: number;
  /** How many addresses of a subset are mirrored, 1 to 1000; default 1000. */
  readonly mirroringMaxEndpointsPerSubset?: number;
  /** How long changes of Pods are gathered before they are written; default 0. */
  readonly endpointUpdatesBatchPeriodMs?: number;
  /** How long changes of Endpoints are gathered before they are mirrored; default 0. */
  readonly mirroringEndpointUpdatesBatchPeriodMs?: number;
}

const isName = (text: string): text is ControllerName => (controllerNames as readonly string[]).includes(text);

/** What is wrong with a selection of controllers, each a sentence; none if it can be used. */
export const selectionErrors = (selection: readonly string[]): readonly string[] =>
  selection
    .filter((item) => item !== '*' && !isName(item.replace(/^-/, '')))
    .map((item) => `there is no controller ${JSON.stringify(item)}: choose from ${controllerNames.join(', ')}, or *`);

/** The controllers that a selection names. What is named decides before `*` does. */
export function selectedControllers(selection: readonly string[] = ['*']): ReadonlySet<ControllerName> {
  const runs = (name: ControllerName): boolean =>
    selection.includes(name) || (!selection.includes(`-${name}`) && selection.includes('*'));
  return new Set(controllerNames.filter(runs));
}
