import type { ApiObject } from '../api/metadata.ts';
import type { Clock } from '../client/clock.ts';
import { silenceMs, systemClock } from '../client/clock.ts';
import type { Key } from '../client/key.ts';

/** What an event about an object is to the one who writes it too. */
export type Hearing =
  /** What it wrote itself: nothing to do. */
  | 'own'
  /** The last of what it wrote, and a plan waits for it. */
  | 'caught-up'
  /** Somebody else's doing. */
  | 'news';

interface Awaited {
  /** UID → the revision that the cache is yet to show; infinite for an object that is to vanish. */
  readonly revisions: Map<string, number>;
  lastMs: number;
  isWaitedFor: boolean;
}

interface Heard {
  readonly uid: string;
  readonly revision: number;
}

/**
 * What was written and is not in the cache yet. A plan made before that would be made of what was, and would write a
 * second time: slices that are created get a new name each time, so that not even a conflict would stop it.
 *
 *     begin ─► wrote, removed ─► end ─► awaited ─► heard of all ─► nothing
 *                   └ heard before the answer came ┘
 */
export class OwnWrites {
  readonly #clock: Clock;
  readonly #awaited = new Map<Key, Awaited>();
  /** Key → what was heard while its writes were under way. */
  readonly #underWay = new Map<Key, Heard[]>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Whether the cache has yet to show what was written for a key; who asks is told by `heard` when it has. */
  isAwaited(key: Key): boolean {
    const awaited = this.#awaited.get(key);
    if (awaited === undefined) return false;
    // An object that vanished before the cache could show it is never heard of.
    if (silenceMs(this.#clock, awaited.lastMs) > longestWaitMs) {
      this.#awaited.delete(key);
      return false;
    }
    awaited.isWaitedFor = true;
    return true;
  }

  /** Says that writes for a key begin; what is heard until they end may be one of them. */
  begin(key: Key): void {
    this.#underWay.set(key, []);
  }

  /** Takes in what the server made of a write. One that changed nothing is not heard of. */
  wrote(key: Key, { metadata }: ApiObject, sent: ApiObject): void {
    const revision = Number(metadata.resourceVersion);
    const isChanged = metadata.resourceVersion !== sent.metadata.resourceVersion;
    if (isChanged && Number.isFinite(revision)) this.#await(key, metadata.uid ?? '', revision);
  }

  removed(key: Key, { metadata: { uid = '' } }: ApiObject): void {
    this.#await(key, uid, Number.POSITIVE_INFINITY);
  }

  /** Says that the writes are over; true if somebody else's were heard of meanwhile. */
  end(key: Key): boolean {
    const heard = this.#underWay.get(key) ?? [];
    this.#underWay.delete(key);
    return heard.map((each) => this.#judge(key, each)).includes('news');
  }

  /** Judges an event about an object that belongs to a key. */
  heard(key: Key, { metadata }: ApiObject, isGone = false): Hearing {
    const { uid = '', resourceVersion, deletionTimestamp } = metadata;
    const isLeaving = isGone || deletionTimestamp !== undefined;
    const heard = { uid, revision: isLeaving ? Number.POSITIVE_INFINITY : Number(resourceVersion) };
    const underWay = this.#underWay.get(key);
    if (underWay === undefined) return this.#judge(key, heard);
    underWay.push(heard);
    return 'own';
  }

  /** Forgets a key. */
  forget(key: Key): void {
    this.#awaited.delete(key);
  }

  #await(key: Key, uid: string, revision: number): void {
    const awaited = this.#awaited.get(key) ?? { revisions: new Map(), lastMs: 0, isWaitedFor: false };
    awaited.revisions.set(uid, revision);
    awaited.lastMs = this.#clock.elapsed();
    this.#awaited.set(key, awaited);
  }

  #judge(key: Key, { uid, revision }: Heard): Hearing {
    const awaited = this.#awaited.get(key);
    const expected = awaited?.revisions.get(uid);
    if (awaited === undefined || expected === undefined) return 'news';
    // Older than ours: a plan of what it leads to was made from something newer already, or was refused.
    if (revision < expected) return 'own';
    awaited.revisions.delete(uid);
    if (awaited.revisions.size === 0) this.#awaited.delete(key);
    if (awaited.revisions.size === 0 && awaited.isWaitedFor) return 'caught-up';
    return revision > expected ? 'news' : 'own';
  }
}

const longestWaitMs = 30_000;
