import type { ApiObject } from '../api/metadata.ts';
import type { Clock } from './clock.ts';
import { silenceMs, systemClock } from './clock.ts';
import type { Key } from './key.ts';

/** What a watch event means to a controller that writes objects of the same kind. */
export type Observation =
  /** Its own write: nothing to do. */
  | 'own'
  /** The last of its own writes for a key that waits for it. */
  | 'caught-up'
  /** A write of another client. */
  | 'foreign';

interface Expected {
  /** UID → the revision that the cache has yet to show; infinite for an object that was deleted. */
  readonly revisions: Map<string, number>;
  lastMs: number;
  isWaitedFor: boolean;
}

interface Observed {
  readonly uid: string;
  readonly revision: number;
}

/**
 * A controller's own writes that its cache does not show yet. A plan made before that would start from the old state and
 * write a second time: slices get a new generated name each time, so that not even a conflict would prevent it.
 *
 *     begin ─► written, deleted ─► end ─► pending ─► all observed ─► forgotten
 *                    └ observed before the answer arrived ┘
 */
export class Expectations {
  readonly #clock: Clock;
  readonly #expected = new Map<Key, Expected>();
  /** Key → what was observed while its writes were in progress. */
  readonly #inProgress = new Map<Key, Observed[]>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Whether the cache has yet to show a write for a key. If so, `observe` returns `caught-up` once it does. */
  isPending(key: Key): boolean {
    const expected = this.#expected.get(key);
    if (expected === undefined) return false;
    // There is no event for an object that was deleted before the cache could show it.
    if (silenceMs(this.#clock, expected.lastMs) > expiryMs) {
      this.#expected.delete(key);
      return false;
    }
    expected.isWaitedFor = true;
    return true;
  }

  /** Marks the start of writes for a key; an event that arrives before `end` may be one of them. */
  begin(key: Key): void {
    this.#inProgress.set(key, []);
  }

  /** Expects the object as the server returned it. A write that changed nothing causes no event. */
  wrote(key: Key, { metadata }: ApiObject, sent: ApiObject): void {
    const revision = Number(metadata.resourceVersion);
    const isChanged = metadata.resourceVersion !== sent.metadata.resourceVersion;
    if (isChanged && Number.isFinite(revision)) this.#expect(key, metadata.uid ?? '', revision);
  }

  /** Expects the object to be deleted. */
  removed(key: Key, { metadata: { uid = '' } }: ApiObject): void {
    this.#expect(key, uid, Number.POSITIVE_INFINITY);
  }

  /** Marks the end of the writes; true if events of foreign writes arrived meanwhile. */
  end(key: Key): boolean {
    const events = this.#inProgress.get(key) ?? [];
    this.#inProgress.delete(key);
    return events.map((each) => this.#classify(key, each)).includes('foreign');
  }

  /** Classifies an event about an object that belongs to a key. */
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
    const expected = this.#expected.get(key) ?? { revisions: new Map(), lastMs: 0, isWaitedFor: false };
    expected.revisions.set(uid, revision);
    expected.lastMs = this.#clock.elapsed();
    this.#expected.set(key, expected);
  }

  #classify(key: Key, { uid, revision }: Observed): Observation {
    const expected = this.#expected.get(key);
    const ours = expected?.revisions.get(uid);
    if (expected === undefined || ours === undefined) return 'foreign';
    // Older than ours: our plan started from something newer, or the server rejected it.
    if (revision < ours) return 'own';
    expected.revisions.delete(uid);
    if (expected.revisions.size === 0) this.#expected.delete(key);
    if (expected.revisions.size === 0 && expected.isWaitedFor) return 'caught-up';
    return revision > ours ? 'foreign' : 'own';
  }
}

const expiryMs = 30_000;
