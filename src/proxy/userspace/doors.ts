import { isDeepStrictEqual } from 'node:util';

import type { Clock, Random } from '../../client/clock.ts';
import { backoffMs } from '../../client/clock.ts';
import type { RouteProblem } from '../backend.ts';
import type { Route } from '../routes/route.ts';
import { routeKey } from '../routes/route.ts';
import type { DoorPlace, OpenDoor } from './engine.ts';
import { fairShare } from './fair-share.ts';
import type { Heard } from './heard.ts';
import { isHeld } from './heard.ts';

export interface DoorsOptions {
  readonly open: (route: Route, place: DoorPlace) => Promise<OpenDoor>;
  /** Why an address could not be held, as a person is told. */
  readonly explain: (route: Route, error: unknown) => string;
  /** How many addresses may be held at once; Infinity: all. */
  readonly most: number;
  /** What a person is told of an owner that may not have all of its addresses. */
  readonly explainLimit: (owner: string) => string;
  readonly heard: (route: Route) => Heard;
  readonly clock: Clock;
  readonly random: Random;
}

interface Door {
  readonly route: Route;
  readonly held: Held | undefined;
  readonly failures: number;
  /** Why it is not held as it should be. */
  readonly problem: string | undefined;
  readonly retryMs: number;
}

/** A door that is open, and how. */
interface Held {
  readonly heard: Heard;
  readonly isSticky: boolean;
  readonly door: OpenDoor;
}

const retries = { baseMs: 500, maxMs: 30_000 };
/** Doors that are opened or closed at once: each may be a question to a thread. */
const atOnce = 64;

/**
 * Holds the addresses of routes, each as its route asks, and tries again where that fails. Where there are more than may
 * be held, every owner has its share.
 */
export class Doors implements AsyncDisposable {
  readonly #options: DoorsOptions;
  /** Route key → its door. */
  readonly #doors = new Map<string, Door>();
  /** Keys of those that may be held; undefined: all. */
  #allowed: ReadonlySet<string> | undefined;
  /** What is done, one after the other: an address is never opened and closed at once. */
  #work: Promise<void> = Promise.resolve();
  #cancelRetry: (() => void) | undefined;
  #isClosed = false;

  constructor(options: DoorsOptions) {
    this.#options = options;
  }

  /** Makes it these and no others. */
  replace(routes: Iterable<Route>): Promise<void> {
    const wanted = new Map(Array.from(routes, (route) => [routeKey(route), route]));
    const gone = [...this.#doors.keys()].filter((key) => !wanted.has(key));
    return this.#do(wanted, gone);
  }

  apply({ removed, added }: { readonly removed: readonly Route[]; readonly added: readonly Route[] }): Promise<void> {
    const wanted = new Map(added.map((route) => [routeKey(route), route]));
    const gone = removed.map(routeKey).filter((key) => !wanted.has(key));
    return this.#do(wanted, gone);
  }

  /** What could not be held, and why. An owner that may not have all of its addresses is one problem. */
  problems(): readonly RouteProblem[] {
    const problems: RouteProblem[] = [];
    const limited = new Set<string>();
    for (const [key, { route, problem }] of this.#doors) {
      if (problem !== undefined) problems.push({ owner: route.owner, text: problem });
      else if (isHeld(route) && !this.#isAllowed(key)) limited.add(route.owner);
    }
    for (const owner of limited) problems.push({ owner, text: this.#options.explainLimit(owner) });
    return problems;
  }

  /** How many addresses should be held and are not. */
  get unopened(): number {
    return this.#doors.values().reduce((sum, { route, held }) => sum + Number(held === undefined && isHeld(route)), 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry?.();
    await this.#work;
  }

  #do(wanted: ReadonlyMap<string, Route>, gone: readonly string[]): Promise<void> {
    const done = this.#work.then(async () => {
      // First what is no longer wanted: another address may need its port.
      await inGroups(gone, (key) => this.#close(key));
      // Then what loses its share: another needs its descriptor.
      const { allowed = [], limited = [] } = this.#share(wanted);
      await inGroups(limited, ([key, route]) => this.#hold(key, route));
      await inGroups(allowed, ([key, route]) => this.#hold(key, route));
      this.#retryLater();
    });
    // Whoever asked hears of a failure; who comes next must not.
    this.#work = done.catch(() => {});
    return done;
  }

  #isAllowed(key: string): boolean {
    return this.#allowed?.has(key) ?? true;
  }

  /** Decides which may be held. The result is what is wanted, and what is affected. */
  #share(wanted: ReadonlyMap<string, Route>): Partial<Record<'allowed' | 'limited', [string, Route][]>> {
    const { most } = this.#options;
    const affected = new Map(wanted);
    if (this.#allowed !== undefined || this.#doors.size + wanted.size > most) {
      const before = this.#allowed;
      const all = new Map(Array.from(this.#doors, ([key, { route }]) => [key, route]));
      for (const [key, route] of wanted) all.set(key, route);
      const { open = [], closed = [] } = Object.groupBy(
        all.entries().filter(([, route]) => isHeld(route)),
        ([key]) => (this.#doors.get(key)?.held === undefined ? 'closed' : 'open'),
      );
      const held = [...open, ...closed]; // what is open stays open if its owner keeps its share
      this.#allowed = held.length > most ? fairShare(held, most) : undefined;
      for (const [key, route] of held) {
        if ((before?.has(key) ?? true) !== this.#isAllowed(key)) affected.set(key, route);
      }
    }
    return Object.groupBy(affected, ([key]) => (this.#isAllowed(key) ? 'allowed' : 'limited'));
  }

  async #close(key: string): Promise<void> {
    const door = this.#doors.get(key);
    this.#doors.delete(key);
    await door?.held?.door.close();
  }

  async #hold(key: string, route: Route): Promise<void> {
    const before = this.#doors.get(key);
    const { open, explain, heard: heardAt, clock, random } = this.#options;
    const isSticky = isStickyRoute(route);
    const heard = heardAt(route);
    const fresh = { route, failures: 0, problem: undefined, retryMs: 0 };
    const isWanted = isHeld(route) && this.#isAllowed(key);
    if (before?.held?.isSticky === isSticky && isWanted) {
      if (!isDeepStrictEqual(heard, before.held.heard)) before.held.door.hear?.(heard);
      this.#doors.set(key, { ...fresh, held: { ...before.held, heard } });
      return;
    }
    await before?.held?.door.close();
    if (!isWanted || this.#isClosed) {
      this.#doors.set(key, { ...fresh, held: undefined });
      return;
    }
    const { address, port } = route;
    try {
      const door = await open(route, { key, address, port, heard, isSticky });
      this.#doors.set(key, { ...fresh, held: { heard, isSticky, door } });
    } catch (error) {
      const failures = (before?.failures ?? 0) + 1;
      const retryMs = clock.elapsed() + backoffMs(retries, failures, random);
      this.#doors.set(key, { route, held: undefined, failures, problem: explain(route, error), retryMs });
    }
  }

  /** Tries what failed again, when the first of it is due. */
  #retryLater(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    let due = Infinity;
    for (const { problem, retryMs } of this.#doors.values()) if (problem !== undefined) due = Math.min(due, retryMs);
    if (due === Infinity || this.#isClosed) return;
    const { clock } = this.#options;
    this.#cancelRetry = clock.after(Math.max(10, due - clock.elapsed()), () => {
      const now = clock.elapsed();
      const failed = [...this.#doors].filter(([, { problem, retryMs }]) => problem !== undefined && retryMs <= now);
      // What fails is kept as a problem.
      void this.#do(new Map(failed.map(([key, { route }]) => [key, route])), []);
    });
  }
}

const isStickyRoute = ({ action, near }: Route): boolean =>
  [action, near?.action].some(
    (each) => each?.type === 'forward' && each.targets.some(({ stickySeconds }) => stickySeconds > 0),
  );

async function inGroups<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += atOnce) await Promise.all(items.slice(at, at + atOnce).map(run));
}
