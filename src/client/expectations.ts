import type { ApiObject } from '../api/metadata.ts';
import type { Clock } from './clock.ts';
import { silenceMs, systemClock } from './clock.ts';
import type { Key } from './key.ts';

/** The origin of a watch event, for a controller that writes objects of the same kind. */
export type Observation =
  /** A write of this controller: nothing to do. */
  | 'own'
  /** The last expected write of a key whose reconcile was postponed. */
  | 'caught-up'
  /** A write of another client. */
  | 'foreign';

interface Expected {
  /** UID → expected revision; infinite for a deletion. */
  readonly revisions: Map<string, number>;
  lastMs: number;
  isPostponed: boolean;
}

interface Observed {
  readonly uid: string;
  readonly revision: number;
}

/**
 * The writes of a controller that its cache does not contain yet. A plan from the stale cache would repeat them: created
 * slices have generated names, so not even a conflict would prevent duplicates.
 *
 *     begin ─► wrote, removed ─► end ─► pending ─► all observed
 *                  └ observed before the response arrived ┘
 */
export class Expectations {
  readonly #clock: Clock;
  readonly #expected = new Map<Key, Expected>();
  /** Key → events observed while its writes are in progress. */
  readonly #inProgress = new Map<Key, Observed[]>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Whether the cache lacks a write of a key. If so, `observe` returns `caught-up` once the cache has all of them. */
  isPending(key: Key): boolean {
    const expected = this.#expected.get(key);
    if (expected === undefined) return false;
    // An object that was deleted before it reached the cache causes no event.
    if (silenceMs(this.#clock, expected.lastMs) > expiryMs) {
      this.#expected.delete(key);
      return false;
    }
    expected.isPostponed = true;
    return true;
  }

  /** Marks the start of writes for a key; an event that arrives before `end` may be one of them. */
  begin(key: Key): void {
    this.#inProgress.set(key, []);
  }

  /** Expects the object that the server returned. A write without a change causes no event. */
  wrote(key: Key, { metadata }: ApiObject, sent: ApiObject): void {
    const revision = Number(metadata.resourceVersion);
    const isChanged = metadata.resourceVersion !== sent.metadata.resourceVersion;
    if (isChanged && Number.isFinite(revision)) this.#expect(key, metadata.uid ?? '', revision);
  }

  /** Expects the object to be deleted. */
  removed(key: Key, { metadata: { uid = '' } }: ApiObject): void {
    this.#expect(key, uid, Number.POSITIVE_INFINITY);
  }

  /** Marks the end of the writes; returns whether events of foreign writes arrived meanwhile. */
  end(key: Key): boolean {
    const events = this.#inProgress.get(key) ?? [];
    this.#inProgress.delete(key);
    return events.map((each) => this.#classify(key, each)).includes('foreign');
  }

  /** Classifies an event of an object that belongs to a key. */
  observe(key: Key, { metadata }: ApiObject, isGone = false): Observation {
    const { uid = '', resourceVersion, deletionTimestamp } = metadata;
    const isLeaving = isGone || deletionTimestamp !== undefined;
    const observed = { uid, revision: isLeaving ? Number.POSITIVE_INFINITY : Number(resourceVersion) };
    const inProgress = this.#inProgress.get(key);
    if (inProgress === undefined) return this.#classify(key, observed);
    inProgress.push(observed);
    return 'own';
  }

  /** Drops the expectations of a key. */
  delete(key: Key): void {
    this.#expected.delete(key);
  }

  #expect(key: Key, uid: string, revision: number): void {
    const expected = this.#expected.get(key) ?? { revisions: new Map(), lastMs: 0, isPostponed: false };
    expected.revisions.set(uid, revision);
    expected.lastMs = this.#clock.elapsed();
    this.#expected.set(key, expected);
  }

  #classify(key: Key, { uid, revision }: Observed): Observation {
    const expected = this.#expected.get(key);
    const ours = expected?.revisions.get(uid);
    if (expected === undefined || ours === undefined) return 'foreign';
    // Older than our write, so our plan already took it into account.
    if (revision < ours) return 'own';
    expected.revisions.delete(uid);
    if (expected.revisions.size === 0) this.#expected.delete(key);
    if (expected.revisions.size === 0 && expected.isPostponed) return 'caught-up';
    return revision > ours ? 'foreign' : 'own';
  }
}

const expiryMs = 30_000;
