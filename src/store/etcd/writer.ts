import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { QuotaExceededError, StoreUnavailableError, UnknownOutcomeError, ValueTooLargeError } from '../errors.ts';
import type { Commit, Write } from '../store.ts';
import { conflictOf } from '../writes.ts';
import type { Queued } from './batch.ts';
import { nestedOf, takeBatch } from './batch.ts';
import type { EtcdClient } from './client.ts';
import { unavailable } from './client.ts';
import { isEpoch, readsEpoch, sameEpoch } from './epoch.ts';
import type { Failure } from './failures.ts';
import { failureOf, reasonOf } from './failures.ts';
import type { Keys } from './keys.ts';
import type { Session, SharedLeases } from './leases.ts';
import type { OperationResponse, TxnRequest, TxnResponse } from './messages.ts';
import { bytesOfText, range, txn } from './messages.ts';
import type { Mirror } from './mirror.ts';

export interface WriterOptions {
  readonly client: EtcdClient;
  readonly keys: Keys;
  readonly mirror: Mirror;
  readonly session: Session;
  readonly leases: SharedLeases;
  /** Called when the state of the prefix was replaced since the mirror loaded it. */
  readonly onReplaced: () => void;
}

/** How long a batch is tried: without an answer, and when no member can have applied it. */
const unknownMs = 10_000;
const refusedMs = 4000;
const pauseMs = { first: 20, longest: 250 };

interface Pending extends Queued {
  readonly resolve: (commit: Commit) => void;
  readonly reject: (error: unknown) => void;
}

/** The key that each batch of this process writes, so that a batch that is sent again is applied once. */
interface Fence {
  readonly key: string;
  readonly lease: bigint;
  readonly modRevision: number;
}

/**
 * Sends commits to etcd, one batch at a time; those that arrive during a batch form the next one.
 *
 * Every batch writes the fence of this process and requires its revision of the batch before. A batch whose answer was
 * lost is sent again: at most one of the two is applied, and the value of the fence shows which.
 */
export class Writer {
  readonly #options: WriterOptions;
  readonly #id = randomUUID();
  #fence: Fence | undefined;
  #sequence = 0;
  #queue: Pending[] = [];
  #draining: Promise<void> | undefined;
  #hasNoSpace = false;
  #problem: string | undefined;
  /** Barriers that wait for the next batch. */
  #barriers: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Whether etcd had the alarm NOSPACE at the last write. */
  get hasNoSpace(): boolean {
    return this.#hasNoSpace;
  }

  /** The failure of the last batch, until one succeeds. */
  get problem(): string | undefined {
    return this.#problem;
  }

  commit(queued: Queued): Promise<Commit> {
    const { promise, resolve, reject } = Promise.withResolvers<Commit>();
    this.#queue.push({ ...queued, resolve, reject });
    this.#draining ??= this.#drain();
    return promise;
  }

  /** Resolves when the mirror has every event before this call. Writes to etcd. */
  barrier(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#barriers.push({ resolve, reject });
    this.#draining ??= this.#drain();
    return promise;
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    await this.#draining;
  }

  async #drain(): Promise<void> {
    await Promise.resolve(); // commits of the same turn share the first batch
    while (this.#queue.length > 0 || this.#barriers.length > 0) {
      const barriers = this.#barriers;
      this.#barriers = [];
      const { isBatching } = this.#options.mirror.revisions;
      const batch = isBatching ? takeBatch(this.#queue) : this.#queue.splice(0, 1);
      try {
        const fence = this.#fence;
        if (batch.length > 0) await this.#send(batch);
        // Some batches are settled without a write of the fence, whose event a barrier needs.
        if (barriers.length > 0 && this.#fence === fence) await this.#send([]);
        for (const { resolve } of barriers) resolve();
      } catch (error) {
        this.#problem = reasonOf(error);
        for (const { reject } of [...batch, ...barriers]) reject(error);
        // The commits that wait would only wait longer.
        if (error instanceof StoreUnavailableError || error instanceof UnknownOutcomeError) this.#rejectWaiting(error);
      }
    }
    this.#draining = undefined;
  }

  #rejectWaiting(cause: Error): void {
    const error = new StoreUnavailableError(cause.message, { cause });
    for (const { reject } of this.#queue.splice(0)) reject(error);
  }

  /** Sends a batch until its outcome is known, and settles its commits. Throws if all of them are to be rejected. */
  async #send(given: readonly Pending[]): Promise<void> {
    const batch = given.filter((pending) => !this.#isLost(pending));
    if (batch.length === 0 && given.length > 0) return;
    if (this.#hasNoSpace && batch.length > 0 && batch.every(isDeletion)) {
      for (const pending of batch) await this.#sendAlone(pending);
      return;
    }
    try {
      await this.#sendFenced(batch);
    } catch (error) {
      await this.#afterFailure(batch, error);
    }
  }

  async #sendFenced(batch: readonly Pending[]): Promise<void> {
    const { keys, mirror } = this.#options;
    const { revisions, epoch, reached } = mirror;
    const fence = (this.#fence ??= await this.#openFence());
    const sequence = String(++this.#sequence);
    const request: TxnRequest = {
      compare: [{ key: fence.key, modRevision: fence.modRevision }, sameEpoch(keys, epoch)],
      success: [
        { type: 'put', key: fence.key, value: bytesOfText(sequence), lease: fence.lease },
        ...batch.map(
          (pending, position) => ({ type: 'txn', ...nestedOf(pending, position, { keys, revisions }) }) as const,
        ),
      ],
      failure: [{ type: 'range', key: fence.key }, readsEpoch(keys)],
    };
    const { response, wasSent } = await this.#untilAnswered(request);
    if (response.succeeded) {
      const { revision } = response.header;
      if (revision <= reached) throw this.#replaced(true); // etcd was restored from a backup
      this.#fence = { ...fence, modRevision: revision };
      this.#succeeded();
      await mirror.reach(revision);
      for (const [position, pending] of batch.entries()) {
        const nested = response.responses[position + 1];
        const responses = nested?.type === 'txn' && nested.succeeded ? nested.responses : undefined;
        this.#settle(pending, responses && this.#revisionOf(pending, responses, revisions.of(revision, position)));
      }
      return;
    }
    const [found, foundEpoch] = response.responses;
    const kv = found?.type === 'range' ? found.kvs[0] : undefined;
    if (kv !== undefined && Buffer.from(kv.value).toString() === sequence) {
      this.#fence = { ...fence, modRevision: kv.modRevision };
      this.#succeeded();
      await mirror.reach(kv.modRevision);
      if (revisions.of(kv.modRevision, 0) <= mirror.history.compacted) throw unknownOutcome();
      for (const [position, pending] of batch.entries()) {
        const revision = revisions.of(kv.modRevision, position);
        this.#settle(pending, this.#wasWritten(revision) ? revision : undefined);
      }
      return;
    }
    if (!isEpoch(epoch, foundEpoch)) throw this.#replaced(wasSent);
    // The lease of the fence has expired, perhaps while the process was paused.
    this.#fence = undefined;
    this.#options.session.reset();
    if (wasSent) throw unknownOutcome();
    await this.#sendFenced(batch);
  }

  /** The revision for the client of a commit, which etcd has applied at `revision`. */
  #revisionOf(pending: Pending, responses: readonly OperationResponse[], revision: number): number {
    return hasChanged(pending, responses) ? revision : this.#options.mirror.history.revision;
  }

  #wasWritten(revision: number): boolean {
    const { history } = this.#options.mirror;
    if (revision <= history.compacted || revision > history.revision) return false;
    return history.after(revision - 1)[0]?.[0]?.revision === revision;
  }

  /** The error for commits that were made for a state which was replaced. */
  #replaced(wasSent: boolean): Error {
    this.#options.onReplaced();
    return wasSent ? unknownOutcome() : new StoreUnavailableError('the state of the cluster was replaced: try again');
  }

  #succeeded(): void {
    this.#problem = undefined;
    this.#hasNoSpace = false;
  }

  /** Sends a transaction to member after member. Throws when it was certainly not applied, or may be. */
  async #untilAnswered(request: TxnRequest): Promise<{ response: TxnResponse; wasSent: boolean }> {
    const { client } = this.#options;
    const began = performance.now();
    let wasSent = false;
    for (let pause: number = pauseMs.first; ; pause = Math.min(2 * pause, pauseMs.longest)) {
      const { url } = client;
      try {
        return { response: await client.attempt(txn, request), wasSent };
      } catch (error) {
        const failure = failureOf(error);
        if (failure === 'unknown') wasSent = true;
        else if (failure !== 'not applied' && failure !== 'overloaded') throw wasSent ? unknownOutcome(error) : error;
        const elapsed = performance.now() - began;
        if (!wasSent && elapsed > refusedMs) throw unavailable(url, error);
        if (elapsed > unknownMs) {
          this.#fence = undefined; // the next batch must not wait for this one
          throw new UnknownOutcomeError(`etcd ${url}: ${reasonOf(error)}: the write may or may not be done`, {
            cause: error,
          });
        }
        if (failure !== 'overloaded') client.leave(url);
        await sleep(pause);
      }
    }
  }

  async #afterFailure(batch: readonly Pending[], error: unknown): Promise<void> {
    const failure = failureOf(error);
    if (failure === 'no space') {
      await this.#withoutSpace(batch);
    } else if (failure === 'too large' || failure === 'invalid transaction') {
      if (batch.length <= 1) throw tooLargeOr(error, failure, batch[0]);
      await this.#sendEach(batch);
    } else if (failure === 'lease not found') {
      this.#fence = undefined;
      this.#options.session.reset();
      this.#options.leases.reset();
      const expired = new StoreUnavailableError('a lease in etcd has expired: try again', { cause: error });
      if (batch.length === 0) throw expired;
      if (batch.length === 1) batch[0]?.reject(expired);
      else await this.#sendEach(batch);
    } else {
      throw unavailable(this.#options.client.url, error);
    }
  }

  /** After one commit has made etcd reject the batch. */
  async #sendEach(batch: readonly Pending[]): Promise<void> {
    for (const pending of batch) await this.#send([pending]).catch(pending.reject);
  }

  /** Only deletions are possible. */
  async #withoutSpace(batch: readonly Pending[]): Promise<void> {
    this.#hasNoSpace = true;
    if (batch.length === 0) throw new QuotaExceededError();
    for (const pending of batch) {
      if (isDeletion(pending)) await this.#sendAlone(pending).catch(pending.reject);
      else pending.reject(new QuotaExceededError());
    }
  }

  /** Sends a commit without the fence. */
  async #sendAlone(pending: Pending): Promise<void> {
    const { keys, mirror } = this.#options;
    const { revisions, epoch, reached } = mirror;
    const nested = nestedOf(pending, 0, { keys, revisions });
    const { response, wasSent } = await this.#untilAnswered({
      compare: [...nested.compare, sameEpoch(keys, epoch)],
      success: nested.success,
      failure: [readsEpoch(keys)],
    });
    const { revision } = response.header;
    const isReplaced = !response.succeeded && !isEpoch(epoch, response.responses[0]);
    if (isReplaced || revision < reached) throw this.#replaced(wasSent || response.succeeded);
    await this.#reach(revision);
    const { succeeded, responses } = response;
    if (succeeded) this.#settle(pending, this.#revisionOf(pending, responses, revisions.of(revision, 0)));
    else if (!wasSent) this.#settle(pending, undefined);
    else if (conflictOf(pending.writes, stateOf(mirror)) === undefined) this.#settle(pending, undefined);
    else throw unknownOutcome();
  }

  /** The mirror may not receive an event at this revision, when the commit wrote nothing. */
  async #reach(revision: number): Promise<void> {
    const { mirror } = this.#options;
    const reached = mirror.reach(revision);
    if (reached === undefined) return;
    await Promise.race([reached, sleep(100, undefined, { ref: false })]);
  }

  /** A commit with a key that has changed meanwhile is a conflict, without a request to etcd. */
  #isLost(pending: Pending): boolean {
    const { mirror } = this.#options;
    const conflict = certainConflict(pending.writes, mirror);
    if (conflict === undefined) return false;
    pending.resolve(conflict);
    return true;
  }

  /** Resolves a commit: with a conflict, or with the revision at which etcd has applied it. */
  #settle(pending: Pending, revision: number | undefined): void {
    const { mirror } = this.#options;
    if (revision !== undefined) {
      pending.resolve({ ok: true, revision });
      return;
    }
    const conflict = conflictOf(pending.writes, stateOf(mirror));
    if (conflict !== undefined) pending.resolve(conflict);
    else this.#queue.push(pending); // the conflict has gone
  }

  async #openFence(): Promise<Fence> {
    const { client, keys, session } = this.#options;
    const key = keys.own('writers', this.#id);
    const lease = await session.id();
    const put = { type: 'put', key, value: bytesOfText('open'), lease } as const;
    const { header } = await client.call(txn, { compare: [], success: [put] });
    // An attempt that was not answered may have been applied later.
    const { kvs } = await client.call(range, { key });
    return { key, lease, modRevision: kvs[0]?.modRevision ?? header.revision };
  }
}

const unknownOutcome = (cause?: unknown): UnknownOutcomeError =>
  new UnknownOutcomeError('etcd did not answer in time: the write may or may not be done', { cause });

/** Whether a commit that succeeded has changed a key: some delete keys that are absent, or only check. */
const hasChanged = ({ writes }: Queued, responses: readonly OperationResponse[]): boolean =>
  writes.some(({ value, isCheck }) => value !== undefined && isCheck !== true) ||
  responses.some((response) => response.type === 'delete' && response.deleted > 0);

const isDeletion = ({ writes }: Queued): boolean =>
  writes.every(({ value, isCheck }) => isCheck || value === undefined);

export const stateOf = ({ history }: Mirror): Parameters<typeof conflictOf>[1] => ({
  tree: history.current,
  revision: history.revision,
  damaged: none,
});

const none: Parameters<typeof conflictOf>[1]['damaged'] = new Map();

/** The conflict of writes that etcd would confirm, whatever other servers have written since the mirror's revision. */
export function certainConflict(writes: readonly Write[], mirror: Mirror): Commit | undefined {
  const { current } = mirror.history;
  // Revisions only rise, so an older one never returns. An absent key may.
  const isCertain = writes.some(
    ({ key, expect = 0 }) =>
      expect !== 0 && mirror.revisions.etcdOf(expect) <= mirror.reached && current.get(key)?.revision !== expect,
  );
  return isCertain ? conflictOf(writes, stateOf(mirror)) : undefined;
}

function tooLargeOr(error: unknown, failure: Failure, pending: Queued | undefined): unknown {
  const largest = pending?.writes.toSorted((a, b) => (b.value?.length ?? 0) - (a.value?.length ?? 0))[0];
  if (failure !== 'too large' || largest === undefined) return error;
  const bytes = Buffer.byteLength(largest.value ?? '');
  return new ValueTooLargeError(largest.key, { bytes, limit: requestLimit });
}

/** etcd's default `--max-request-bytes`. */
const requestLimit = 1_572_864;
