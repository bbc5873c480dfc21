import type { DecisionTable } from './routes/decide.ts';
import type { Route } from './routes/route.ts';

/** All routes and the network of the node. It is live: read it during a call and keep no reference. */
export type RoutingState = DecisionTable;

/** A difference between two states. A changed route is in both lists, an unchanged one in neither. */
export interface RouteChange {
  /** Old versions of routes. */
  readonly removed: readonly Route[];
  /** New versions of routes. */
  readonly added: readonly Route[];
}

/** A problem of single routes; all others work. */
export interface RouteProblem {
  /** The owner of the route, such as `Service shop/web`; left out: the problem is not about one owner. */
  readonly owner?: string;
  /** The reason of the owner's Event. Default: `NotServed`. */
  readonly reason?: string;
  /** The problem and its fix. Readers of the owner's namespace see it in an Event. */
  readonly text: string;
  /** The same text with the names of objects in other namespaces, for the log. */
  readonly fullText?: string;
}

/**
 * Implements routes: as rules of the kernel, or as listeners. The proxy calls `replace` first, then `apply` for each change, never
 * concurrently. If a call rejects, a part of the change may have been made; the proxy calls `replace` until it succeeds.
 * Existing connections are kept, but UDP flows to endpoints that no longer serve are ended.
 */
export interface Backend extends AsyncDisposable {
  /** Replaces all routes. Routes that do not change keep working throughout. */
  replace(state: RoutingState): Promise<void>;
  /** Applies a change; `state` is the state after it. */
  apply(change: RouteChange, state: RoutingState): Promise<void>;
  /** Current problems, such as an address that cannot be listened on. */
  problems(): readonly RouteProblem[];
  /** Removes everything it created. Disposing alone leaves rules in place, so that a restart interrupts nothing. */
  cleanup(): Promise<void>;
}

/** Whether a change contains no route. */
export const isEmptyChange = ({ removed, added }: RouteChange): boolean => removed.length === 0 && added.length === 0;
