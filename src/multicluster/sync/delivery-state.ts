// The delivery state of each service in each member, from which the conditions of exports are computed.
import { messageOf } from '../../api/error-message.ts';
import type { Key } from '../../client/key.ts';
import { nameFor } from '../../client/key.ts';
import { excludedIn, rejectedIn, skippedIn } from '../project/delivery.ts';
import type { Delivery } from '../project/export-conditions.ts';

/** The result of a reconcile that succeeded. */
export interface Result {
  readonly delivery: Delivery;
  /** The clusters that take part in the service, by precedence. */
  readonly clusters: readonly string[];
  /** The version of the merged service that was written. */
  readonly version: number;
}

/**
 * The state of one service in one member, during the term of one leader.
 *
 * | state   | meaning                                                       | next state                                       |
 * |---------|---------------------------------------------------------------|--------------------------------------------------|
 * | Pending | no reconcile was started                                      | started: Writing                                 |
 * | Writing | a reconcile is running, or failed and will be retried         | succeeded: Synced; third failure in a row: Failed |
 * | Synced  | the last reconcile succeeded                                  | started: Writing, with the same result           |
 * | Failed  | three reconciles in a row failed; retries continue            | succeeded: Synced                                |
 *
 * A member that leaves or is replaced is Pending again. The last result outlives Writing and Failed: what a member holds
 * does not disappear because the next write is slow.
 */
export type DeliveryState =
  | { readonly phase: 'Pending'; readonly last?: undefined }
  | { readonly phase: 'Writing'; readonly last?: Result | undefined }
  | { readonly phase: 'Synced'; readonly last: Result }
  | { readonly phase: 'Failed'; readonly last?: Result | undefined; readonly error: string };

export type DeliveryEvent =
  | { readonly type: 'started' }
  | { readonly type: 'succeeded'; readonly result: Result }
  /** `failures`: consecutive failures, this one included. */
  | { readonly type: 'failed'; readonly failures: number; readonly error: unknown };

/** Two writers conflict once or twice; a third failure in a row is reported on the export. */
const failuresUntilFailed = 3;

const longestError = 300;

/** The state after an event. */
export function nextState(state: DeliveryState, event: DeliveryEvent): DeliveryState {
  switch (event.type) {
    case 'started':
      return state.phase === 'Failed' ? state : { phase: 'Writing', last: state.last };
    case 'succeeded':
      return { phase: 'Synced', last: event.result };
    case 'failed':
      if (state.phase === 'Failed' || event.failures < failuresUntilFailed) return state;
      return { phase: 'Failed', last: state.last, error: messageOf(event.error).slice(0, longestError) };
  }
}

/** Whether a reconcile has produced a result or has failed often enough, so that exports need not wait for it. */
export const isSettled = ({ phase, last }: DeliveryState): boolean => phase === 'Failed' || last !== undefined;

/**
 * Whether a transition can change the conditions of the exports. `awaited`: the versions of the service that exports wait
 * for. A new version alone changes nothing, so that a change of an endpoint writes no status.
 */
export function affectsExports(before: DeliveryState, after: DeliveryState, awaited: readonly number[]): boolean {
  if (after.phase === 'Failed') return before.phase !== 'Failed';
  if (after.phase !== 'Synced') return false;
  if (before.phase === 'Failed' || before.last === undefined) return true;
  const [from, to] = [before.last, after.last];
  return textOf(from) !== textOf(to) || awaited.some((version) => from.version < version && version <= to.version);
}

const textOf = ({ clusters, delivery }: Result): string => JSON.stringify([clusters, delivery]);

/** A member as the exports of one cluster see it. */
export interface DeliveryTarget {
  readonly cluster: string;
  /** Whether the member has the namespace of the service, or may have it. */
  readonly isConcerned: boolean;
  /** The audience of the exports does not include it. */
  readonly isExcluded?: boolean | undefined;
  readonly connection: 'alive' | 'silent' | 'lost' | 'unknown';
  /** Why the member does not take part in the set; undefined: it does. */
  readonly rejection?: string | undefined;
  /** Why the member cannot be read although it answers; undefined: it can. */
  readonly unreadable?: string | undefined;
}

/** An export of a service, and the first version of the service with everything that is exported; 0: any. */
export interface DeliverySource {
  readonly namespace: string;
  readonly exporter: string;
  readonly version: number;
}

/**
 * The delivery to one member that the conditions of an export report. A member whose import includes the exporter stays
 * acknowledged while endpoints change; exports wait only for the version with everything that existed when they were created.
 */
export function deliveryIn(
  state: DeliveryState,
  { cluster, isConcerned, isExcluded, connection, rejection, unreadable }: DeliveryTarget,
  source: DeliverySource,
): Delivery {
  if (rejection !== undefined) return rejectedIn(cluster, rejection);
  if (isExcluded === true) return excludedIn(cluster);
  // A cluster without the namespace holds nothing, which is right (MCS-109), even if it was lost since.
  if (!isConcerned) return skippedIn(cluster, source.namespace);
  const { last } = state;
  const known = last?.delivery ?? { cluster, hasAddress: false };
  // A member that is silent for a moment still has what was written.
  if (connection === 'lost' || (last === undefined && connection !== 'alive'))
    return { ...known, state: 'unreachable' };
  if (unreadable !== undefined) return { ...known, state: 'unreachable', error: unreadable };
  if (state.phase === 'Failed') return { ...known, state: 'pending', error: state.error };
  if (last === undefined) return { ...known, state: 'pending' };
  const isOutdated = last.version < source.version || !last.clusters.includes(source.exporter);
  return last.delivery.state === 'acknowledged' && isOutdated ? { ...known, state: 'pending' } : last.delivery;
}

/** An export that was read completely: its UIDs, and the first version of the service with everything it exports. */
interface CompleteExport {
  readonly uid: string;
  readonly version: number;
}

const pending: DeliveryState = { phase: 'Pending' };

/** The states of all services in all members. */
export class DeliveryStates {
  /** Service → member → state; Pending is left out. */
  readonly #states = new Map<Key, Map<string, DeliveryState>>();
  /** Service → exporter → its export, once it was read completely. */
  readonly #complete = new Map<Key, Map<string, CompleteExport>>();

  get(key: Key, member: string): DeliveryState {
    return this.#states.get(key)?.get(member) ?? pending;
  }

  /** Applies an event, and returns whether the conditions of the exports can change. */
  apply(key: Key, member: string, event: DeliveryEvent): boolean {
    const before = this.get(key, member);
    const after = nextState(before, event);
    const members = this.#states.get(key) ?? new Map<string, DeliveryState>();
    this.#states.set(key, members.set(member, after));
    const awaited = Array.from(this.#complete.get(key)?.values() ?? [], ({ version }) => version);
    return affectsExports(before, after, awaited);
  }

  /** Whether the export with these UIDs was read with all its endpoints. */
  isComplete(key: Key, exporter: string, uid: string): boolean {
    return this.#complete.get(key)?.get(exporter)?.uid === uid;
  }

  /** Records that this version of a service has everything that a cluster exports. */
  setComplete(key: Key, exporter: string, complete: CompleteExport): void {
    const exporters = this.#complete.get(key) ?? new Map<string, CompleteExport>();
    this.#complete.set(key, exporters.set(exporter, complete));
  }

  /** The deliveries that the conditions of the export of one cluster report, one for each member. */
  deliveries(key: Key, exporter: string, targets: readonly DeliveryTarget[]): readonly Delivery[] {
    const version = this.#complete.get(key)?.get(exporter)?.version ?? 0;
    const source = { namespace: nameFor(key).namespace ?? '', exporter, version };
    return targets.map((target) => deliveryIn(this.get(key, target.cluster), target, source));
  }

  clear(): void {
    this.#states.clear();
    this.#complete.clear();
  }

  deleteMember(member: string): void {
    for (const members of [...this.#states.values(), ...this.#complete.values()]) members.delete(member);
  }

  delete(key: Key): void {
    this.#states.delete(key);
    this.#complete.delete(key);
  }
}
