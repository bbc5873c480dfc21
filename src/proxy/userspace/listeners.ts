import { isDeepStrictEqual } from 'node:util';

import type { Clock, Random } from '../../client/clock.ts';
import { backoffMs } from '../../client/clock.ts';
import type { RouteProblem } from '../backend.ts';
import type { Route } from '../routes/route.ts';
import { routeKey } from '../routes/route.ts';
import type { Listener, ListenRequest } from './engine.ts';
import { fairShare } from './fair-share.ts';
import type { AllowedSources } from './allowed-sources.ts';
import { isBound } from './allowed-sources.ts';

export interface ListenersOptions {
  readonly open: (route: Route, request: ListenRequest) => Promise<Listener>;
  /** Describes why a listener could not be opened. */
  readonly explain: (route: Route, error: unknown) => string;
  /** The highest number of open listeners; Infinity: no limit. */
  readonly maxListeners: number;
  /** Describes that an owner has fewer listeners than it needs. */
  readonly explainLimit: (owner: string) => string;
  readonly allowedSources: (route: Route) => AllowedSources;
  readonly clock: Clock;
  readonly random: Random;
}

/** A route and its listener. */
interface Entry {
  readonly route: Route;
  readonly open: Open | undefined;
  readonly failures: number;
  /** Why the listener could not be opened. */
  readonly problem: string | undefined;
  readonly retryMs: number;
}

/** An open listener and its settings. */
interface Open {
  readonly allowedSources: AllowedSources;
  readonly isSticky: boolean;
  readonly listener: Listener;
}

const retries = { baseMs: 500, maxMs: 30_000 };
/** Listeners that are opened or closed concurrently: each may be a request to a thread. */
const concurrency = 64;

/**
 * Keeps a listener open for each route that needs one, and retries failures with backoff. If there are more routes than
 * allowed listeners, owners get fair shares.
 */
export class Listeners implements AsyncDisposable {
  readonly #options: ListenersOptions;
  /** Route key → its listener. */
  readonly #entries = new Map<string, Entry>();
  /** Keys of routes that may have a listener; undefined: all. */
  #allowed: ReadonlySet<string> | undefined;
  /** The last change. Changes run one after the other, so that an address is never opened and closed concurrently. */
  #work: Promise<void> = Promise.resolve();
  #cancelRetry: (() => void) | undefined;
  #isClosed = false;

  constructor(options: ListenersOptions) {
    this.#options = options;
  }

  /** Replaces all routes. */
  replace(routes: Iterable<Route>): Promise<void> {
    const wanted = new Map(Array.from(routes, (route) => [routeKey(route), route]));
    const gone = [...this.#entries.keys()].filter((key) => !wanted.has(key));
    return this.#change(wanted, gone);
  }

  apply({ removed, added }: { readonly removed: readonly Route[]; readonly added: readonly Route[] }): Promise<void> {
    const wanted = new Map(added.map((route) => [routeKey(route), route]));
    const gone = removed.map(routeKey).filter((key) => !wanted.has(key));
    return this.#change(wanted, gone);
  }

  /** Listeners that could not be opened, and one problem for each owner whose share is too small. */
  problems(): readonly RouteProblem[] {
    const problems: RouteProblem[] = [];
    const limited = new Set<string>();
    for (const [key, { route, problem }] of this.#entries) {
      if (problem !== undefined) problems.push({ owner: route.owner, text: problem });
      else if (isBound(route) && !this.#isAllowed(key)) limited.add(route.owner);
    }
    for (const owner of limited) problems.push({ owner, text: this.#options.explainLimit(owner) });
    return problems;
  }

  /** Routes that need a listener and have none. */
  get unopened(): number {
    return this.#entries
      .values()
      .reduce((sum, { route, open }) => sum + Number(open === undefined && isBound(route)), 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry?.();
    await this.#work;
  }

  #change(wanted: ReadonlyMap<string, Route>, gone: readonly string[]): Promise<void> {
    const done = this.#work.then(async () => {
      // Close first: another route may need the port.
      await inGroups(gone, (key) => this.#close(key));
      // Then close those that lose their share: others need the descriptors.
      const { allowed = [], limited = [] } = this.#share(wanted);
      await inGroups(limited, ([key, route]) => this.#update(key, route));
      await inGroups(allowed, ([key, route]) => this.#update(key, route));
      this.#retryLater();
    });
    // A failure is returned to the caller of this change only.
    this.#work = done.catch(() => {});
    return done;
  }

  #isAllowed(key: string): boolean {
    return this.#allowed?.has(key) ?? true;
  }

  /** Computes which routes may have a listener. Returns the wanted routes and those whose share changed. */
  #share(wanted: ReadonlyMap<string, Route>): Partial<Record<'allowed' | 'limited', [string, Route][]>> {
    const { maxListeners } = this.#options;
    const affected = new Map(wanted);
    if (this.#allowed !== undefined || this.#entries.size + wanted.size > maxListeners) {
      const before = this.#allowed;
      const all = new Map(Array.from(this.#entries, ([key, { route }]) => [key, route]));
      for (const [key, route] of wanted) all.set(key, route);
      const { open = [], closed = [] } = Object.groupBy(
        all.entries().filter(([, route]) => isBound(route)),
        ([key]) => (this.#entries.get(key)?.open === undefined ? 'closed' : 'open'),
      );
      const bound = [...open, ...closed]; // open listeners first: they stay open while the owner's share allows
      this.#allowed = bound.length > maxListeners ? fairShare(bound, maxListeners) : undefined;
      for (const [key, route] of bound) {
        if ((before?.has(key) ?? true) !== this.#isAllowed(key)) affected.set(key, route);
      }
    }
    return Object.groupBy(affected, ([key]) => (this.#isAllowed(key) ? 'allowed' : 'limited'));
  }

  async #close(key: string): Promise<void> {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    await entry?.open?.listener.close();
  }

  async #update(key: string, route: Route): Promise<void> {
    const before = this.#entries.get(key)?.open;
    const { explain, clock, random } = this.#options;
    const failures = this.#entries.get(key)?.failures ?? 0;
    const isSticky = isStickyRoute(route);
    const allowedSources = this.#options.allowedSources(route);
    const fresh = { route, failures: 0, problem: undefined, retryMs: 0 };
    const isWanted = isBound(route) && this.#isAllowed(key);
    if (before?.isSticky === isSticky && isWanted) {
      if (!isDeepStrictEqual(allowedSources, before.allowedSources)) {
        before.listener.setAllowedSources?.(allowedSources);
      }
      this.#entries.set(key, { ...fresh, open: { ...before, allowedSources } });
      return;
    }
    await before?.listener.close();
    if (!isWanted || this.#isClosed) {
      this.#entries.set(key, { ...fresh, open: undefined });
      return;
    }
    const { address, port } = route;
    try {
      const listener = await this.#options.open(route, { key, address, port, allowedSources, isSticky });
      this.#entries.set(key, { ...fresh, open: { allowedSources, isSticky, listener } });
    } catch (error) {
      const retryMs = clock.elapsed() + backoffMs(retries, failures + 1, random);
      const problem = explain(route, error);
      this.#entries.set(key, { route, open: undefined, failures: failures + 1, problem, retryMs });
    }
  }

  /** Schedules the next retry of failed listeners. */
  #retryLater(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    let due = Infinity;
    for (const { problem, retryMs } of this.#entries.values()) if (problem !== undefined) due = Math.min(due, retryMs);
    if (due === Infinity || this.#isClosed) return;
    const { clock } = this.#options;
    this.#cancelRetry = clock.after(Math.max(10, due - clock.elapsed()), () => {
      const now = clock.elapsed();
      const failed = [...this.#entries].filter(([, { problem, retryMs }]) => problem !== undefined && retryMs <= now);
      // Failures become problems.
      void this.#change(new Map(failed.map(([key, { route }]) => [key, route])), []);
    });
  }
}

const isStickyRoute = ({ action, near }: Route): boolean =>
  [action, near?.action].some(
    (each) => each?.type === 'forward' && each.targets.some(({ stickySeconds }) => stickySeconds > 0),
  );

async function inGroups<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += concurrency) await Promise.all(items.slice(at, at + concurrency).map(run));
}
