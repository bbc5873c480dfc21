import { CompactedError } from '../errors.ts';
import { applied, History } from '../history.ts';
import type { Change, Entry } from '../store.ts';
import { Tree } from '../tree.ts';
import { Watchers } from '../watchers.ts';
import type { Epoch } from './epoch.ts';
import { firstEpoch } from './epoch.ts';
import type { Keys } from './keys.ts';
import type { EtcdEvent, KeyValue } from './messages.ts';
import { Revisions } from './revisions.ts';
import { decodeValue } from './values.ts';

/** The name of the keys that mark the position of a commit that only deletes. */
export const markerName = 'positions';

/** What etcd had at a revision. */
export interface LoadedState {
  readonly kvs: readonly KeyValue[];
  readonly revision: number;
  readonly epoch: Epoch;
}

/**
 * The state of etcd in memory, as far as its events have arrived, with a history from which reads and watches continue.
 *
 * The commits of a batch have one revision in etcd, and its events have their order. Every server computes the same
 * revisions for them: a written value contains its position. A deletion has the position of the event before it, which is
 * a write of the same commit or a marker.
 */
export class Mirror {
  readonly watchers = new Watchers();
  readonly #keys: Keys;
  readonly #markers: string;
  readonly #historyBytes: number;
  #epoch = firstEpoch;
  #revisions = new Revisions(firstEpoch);
  #history = new History(1);
  /** Keys with a lease: several may expire at one revision. */
  #leased = new Set<string>();
  #reached = 0;
  readonly #waiting = new Set<{ readonly revision: number; readonly resolve: () => void }>();

  /** `historyBytes` limits the values that only reads of past revisions need. */
  constructor(keys: Keys, historyBytes = Infinity) {
    this.#keys = keys;
    this.#historyBytes = historyBytes;
    this.#markers = keys.own(markerName, '');
  }

  get history(): History {
    return this.#history;
  }

  /** The epoch of the state. */
  get epoch(): Epoch {
    return this.#epoch;
  }

  get revisions(): Revisions {
    return this.#revisions;
  }

  /** All events up to this revision of etcd are applied. */
  get reached(): number {
    return this.#reached;
  }

  /** Replaces the state by that at a revision of etcd. Watches end, since the changes before it are not known. */
  load({ kvs, revision, epoch }: LoadedState): void {
    const revisions = new Revisions(epoch);
    this.#epoch = epoch;
    this.#revisions = revisions;
    this.#leased = new Set();
    let tree = Tree.empty<Entry>();
    for (const kv of kvs) {
      if (this.#isOwn(kv.key)) continue;
      const key = this.#keys.fromEtcd(kv.key);
      const { value, position } = decodeValue(kv.value);
      const created = revisions.of(kv.createRevision, kv.createRevision === kv.modRevision ? position : 0);
      tree = tree.set({ key, value, revision: revisions.of(kv.modRevision, position), created });
      if (kv.lease !== 0n) this.#leased.add(key);
    }
    const compacted = revisions.lastOf(revision);
    const before = this.#history.revision;
    this.#history = new History(compacted, tree);
    this.watchers.end(new CompactedError(before, compacted));
    this.#reached = revision; // may be lower than before, when etcd was restored from a backup
    // This state is later than those that others wait for, also when its revision is lower.
    this.#resolve(Infinity);
  }

  /** Applies the events of whole revisions. */
  apply(events: readonly EtcdEvent[]): void {
    const last = events.at(-1)?.kv.modRevision;
    if (last === undefined || last <= this.#reached) return;
    const commits = this.#commitsOf(events.filter(({ kv }) => kv.modRevision > this.#reached));
    for (const changes of commits) {
      const revision = changes[0]?.revision ?? 0;
      this.#history.append(revision, changes, applied(this.#history.current, changes));
    }
    this.#reached = last;
    if (commits.length > 0) this.watchers.publish(commits, this.#history.revision);
    if (this.#history.pastBytes > this.#historyBytes) {
      this.#history.compact(this.#history.revisionKeeping(this.#historyBytes / 2));
    }
    this.#resolve();
  }

  /** No event up to this revision of etcd is missing. */
  progress(revision: number): void {
    if (revision <= this.#reached) return;
    this.#reached = revision;
    this.#resolve();
  }

  /** Resolves when all events up to a revision of etcd are applied, or when the state was replaced. */
  reach(revision: number): Promise<void> | undefined {
    if (this.#reached >= revision) return undefined;
    return new Promise((resolve) => this.#waiting.add({ revision, resolve }));
  }

  /** Whether a read waits for an event. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Ends all watches and waits. */
  close(error: Error): void {
    this.watchers.end(error);
    this.#reached = Infinity;
    this.#resolve();
  }

  #resolve(reached = this.#reached): void {
    for (const waiter of this.#waiting) {
      if (waiter.revision > reached) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }

  #isOwn(key: string): boolean {
    return key.startsWith(this.#keys.own(''));
  }

  #commitsOf(events: readonly EtcdEvent[]): Change[][] {
    const revisions = this.#revisions;
    const commits: Change[][] = [];
    let [revision, isExpiry, tree] = [0, false, this.#history.current];
    for (const { kv, isDelete } of events) {
      if (kv.modRevision !== revisions.etcdOf(revision))
        [revision, isExpiry] = [revisions.of(kv.modRevision, 0), false];
      const position = this.#positionOf(kv, isDelete);
      if (position !== undefined) {
        revision = Math.max(revision, revisions.of(kv.modRevision, position));
        isExpiry = false;
      }
      if (this.#isOwn(kv.key)) continue;
      const key = this.#keys.fromEtcd(kv.key);
      if (isDelete && this.#leased.delete(key)) {
        // Each expired key is a commit of its own.
        if (isExpiry && revision < revisions.lastOf(kv.modRevision)) revision++;
        isExpiry = true;
      }
      const previous = tree.get(key);
      if (isDelete && previous === undefined) continue;
      if (!isDelete && kv.lease === 0n) this.#leased.delete(key);
      else if (!isDelete) this.#leased.add(key);
      const entry = isDelete ? undefined : this.#entryOf(key, kv, revision, previous);
      const change: Change = { key, revision, entry, previous };
      tree = applied(tree, [change]);
      const commit = commits.at(-1);
      if (commit !== undefined && commit[0]?.revision === revision) commit.push(change);
      else commits.push([change]);
    }
    return commits;
  }

  /** The position that an event determines; undefined: that of the event before it. */
  #positionOf({ key, value }: KeyValue, isDelete: boolean): number | undefined {
    if (isDelete) return undefined;
    if (key.startsWith(this.#markers)) return Number(key.slice(this.#markers.length));
    return this.#isOwn(key) ? undefined : decodeValue(value).position;
  }

  #entryOf(key: string, kv: KeyValue, revision: number, previous: Entry | undefined): Entry {
    const isNew = kv.createRevision === kv.modRevision;
    const created = isNew ? revision : (previous?.created ?? this.#revisions.of(kv.createRevision, 0));
    return { key, value: decodeValue(kv.value).value, revision, created };
  }
}
