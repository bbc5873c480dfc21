import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

import type { Change } from '../../src/store/store.ts';
import type { Connection, TestObject, Watch, WatchEvent } from '../harness/connection.ts';

/** A client that keeps a copy of a collection by watching it, across restarts of the server. */
export class Follower {
  /** The revision of the last event; before the first, where the follower begins. */
  seen: number;
  /** The number of events so far. */
  count = 0;
  readonly #collection: string;
  /** path → object */
  readonly #objects = new Map<string, TestObject>();
  #watch: Watch | undefined;
  /** Events since the watch was resumed: `ADDED web 12`. */
  #recent: string[] = [];
  #problem: string | undefined;

  constructor(collection: string, from: number) {
    this.#collection = collection;
    this.seen = from;
  }

  get ended(): Promise<void> {
    return this.#watch?.ended ?? Promise.resolve();
  }

  /** Watches from the last revision. */
  follow(connection: Connection): void {
    this.#recent = [];
    this.#watch = connection.watch(`${this.#collection}?watch=1&resourceVersion=${this.seen}`, (event) =>
      this.#take(event),
    );
  }

  /** Resumes after a restart and checks that all changes in the store are delivered once and in order. */
  async catchUp(connection: Connection, changes: readonly Change[]): Promise<void> {
    const prefix = this.#collection.replace(/^\/api\/v1\/namespaces\/(\w+)\/(\w+)$/, '/registry/$2/$1/');
    const expected = changes.filter(({ key, revision }) => key.startsWith(prefix) && revision > this.seen);
    this.follow(connection);
    for (const end = Date.now() + 60_000; this.#recent.length < expected.length && Date.now() < end;) await delay(1);
    this.#watch?.close();
    await this.ended;
    assert.equal(this.#problem, undefined);
    assert.deepEqual(
      this.#recent,
      expected.map(({ key, revision, entry, previous }) => {
        const type = entry === undefined ? 'DELETED' : previous === undefined ? 'ADDED' : 'MODIFIED';
        return `${type} ${key.slice(prefix.length)} ${revision}`;
      }),
    );
  }

  /** Checks that the copy equals a list. */
  checkEqual(objects: ReadonlyMap<string, TestObject>): void {
    const listed = [...objects].filter(([path]) => path.startsWith(`${this.#collection}/`));
    const held = [...this.#objects].map(([path, { kind: _kind, apiVersion: _version, ...rest }]) => [path, rest]);
    const byPath = (a: readonly unknown[], b: readonly unknown[]): number => (String(a[0]) < String(b[0]) ? -1 : 1);
    assert.deepEqual(held.toSorted(byPath), listed.toSorted(byPath));
  }

  #take({ type, object }: WatchEvent): void {
    if (type === 'ERROR' || type === 'BOOKMARK') {
      this.#problem ??= `unexpected ${type}: ${JSON.stringify(object)}`;
      return;
    }
    const path = `${this.#collection}/${object.metadata.name}`;
    const revision = Number(object.metadata.resourceVersion);
    if (revision <= this.seen) this.#problem ??= `revision ${revision} after ${this.seen}`;
    if (this.#objects.has(path) === (type === 'ADDED')) this.#problem ??= `${type} of ${path} at ${revision}`;
    if (type === 'DELETED') this.#objects.delete(path);
    else this.#objects.set(path, object);
    this.seen = revision;
    this.count++;
    this.#recent.push(`${type} ${object.metadata.name} ${revision}`);
  }
}
