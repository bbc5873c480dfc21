import type { DecisionTable } from './routes/decide.ts';
import type { Route } from './routes/route.ts';

/** Every route there is, and what is around them; `decide` can be asked about it. It changes: read it, keep nothing. */
export type RoutingState = DecisionTable;

/** What differs from the state before. A route that changed is in both lists; one that did not is in neither. */
export interface RouteChange {
  /** Routes as they were. */
  readonly removed: readonly Route[];
  /** Routes as they are from now on. */
  readonly added: readonly Route[];
}

/** What keeps routes from working, though everything else does. */
export interface RouteProblem {
  /** Whose route it is, such as `Service shop/web`; left out: it is not about one. */
  readonly owner?: string;
  /** In a word, as an Event of the owner has it; left out: `NotServed`. */
  readonly reason?: string;
  /** What is wrong and what to do about it, a sentence. Readers of the owner's namespace see it in an Event. */
  readonly text: string;
  /** The same sentence with the names of objects of other namespaces, for the log. */
  readonly fullText?: string;
}

/**
 * What makes routes happen: rules of the kernel, or listeners. The proxy calls `replace` first, then `apply` with each
 * change, one at a time and never two at once. When either rejects, nothing or only a part of it may hold; the proxy
 * calls `replace` next, and again until it is heard. Connections that exist are left alone, but UDP flows to endpoints
 * that no longer serve are cut.
 */
export interface Backend extends AsyncDisposable {
  /** Makes the routes exactly these, whatever was there before. Hitless: a route in both keeps working throughout. */
  replace(state: RoutingState): Promise<void>;
  /** Makes one change. `state` is what holds afterwards. */
  apply(change: RouteChange, state: RoutingState): Promise<void>;
  /** What keeps it from its work now, such as a route that could not be opened. */
  problems(): readonly RouteProblem[];
  /** Removes everything it ever made. Disposing alone leaves rules in place, so that a restart is not noticed. */
  cleanup(): Promise<void>;
}

/** Whether a change says anything. */
export const isEmptyChange = ({ removed, added }: RouteChange): boolean => removed.length === 0 && added.length === 0;
