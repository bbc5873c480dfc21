import type { ClientDuplexStream } from '@grpc/grpc-js';

import { setInterval, setTimeout } from '../../machine/timers.ts';
import type { EtcdClient } from './client.ts';
import { epochKey } from './epoch.ts';
import { reasonOf } from './failures.ts';
import type { Keys } from './keys.ts';
import type { EtcdEvent, WatchRequest, WatchResponse } from './messages.ts';
import { status, watch } from './messages.ts';
import type { Mirror } from './mirror.ts';

export interface FeedOptions {
  readonly client: EtcdClient;
  readonly keys: Keys;
  readonly mirror: Mirror;
  /** Called when the mirror must be loaded again: events are compacted, or the state was replaced. The feed has stopped. */
  readonly onLost: (reason: string) => void;
  /** Called when a member does not have all events of the mirror: it is late, or etcd was restored from a backup. */
  readonly onBehind: () => void;
}

const checkMs = 250;
/** A silent member gets a progress request after this time. */
const quietMs = 1000;
/** A member that does not answer for this time is replaced by another. */
const silentMs = 2000;
const reconnectMs = { first: 50, longest: 1000 };

/** Feeds a mirror with the events of etcd from one watch; continues on another member when one fails or is silent. */
export class Feed implements Disposable {
  readonly #options: FeedOptions;
  readonly #epochKey: string;
  readonly #timer: NodeJS.Timeout;
  #stream: ClientDuplexStream<WatchRequest, WatchResponse> | undefined;
  /** The member of the stream. */
  #url = '';
  /** Events of a revision that is not complete. */
  #incomplete: readonly EtcdEvent[] = [];
  #clusterId: bigint | undefined;
  #lastMessage = performance.now();
  /** Since when reads wait and no event arrives; undefined: none waits. */
  #awaitedSince: number | undefined;
  /** Whether the member answers a progress request only after the events before it. */
  #hasExactProgress = false;
  #failures = 0;
  #problem: string | undefined;
  #isClosed = false;
  #isSuspended = true;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#epochKey = epochKey(options.keys);
    this.#timer = setInterval(() => this.#check(), checkMs);
  }

  /** Why events do not arrive; undefined: they do. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Whether `requestProgress` has an effect. */
  get hasExactProgress(): boolean {
    return this.#hasExactProgress;
  }

  /** Watches from the revision of the mirror. */
  start(): void {
    this.#isSuspended = false;
    this.#open();
  }

  /** Stops until the next `start`. */
  suspend(): void {
    this.#isSuspended = true;
    this.#drop();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#drop();
  }

  /** Requests the revision that the watch has reached. */
  requestProgress(): void {
    this.#stream?.write({ type: 'progress' });
  }

  #open(): void {
    if (this.#isClosed || this.#isSuspended) return;
    const { client, keys, mirror } = this.#options;
    const stream = client.stream(watch);
    this.#stream = stream;
    this.#url = client.url;
    this.#incomplete = [];
    this.#lastMessage = performance.now();
    this.#awaitedSince = undefined;
    this.#hasExactProgress = false;
    const fail = (reason: string): void => {
      if (this.#stream === stream) this.#reconnect(reason);
    };
    stream.on('data', (response: WatchResponse) => {
      if (this.#stream === stream) this.#take(response);
    });
    stream.on('error', (error) => fail(reasonOf(error)));
    stream.on('end', () => fail('the watch ended'));
    stream.write({ type: 'create', key: keys.prefix, end: keys.end, from: mirror.reached + 1 });
    client.attempt(status, undefined).then(
      ({ version }) => {
        if (this.#stream === stream) this.#hasExactProgress = hasExactProgress(version);
      },
      () => undefined, // the watch itself reports failures
    );
  }

  #take(response: WatchResponse): void {
    const { header, created, canceled, compactRevision, reason, watchId } = response;
    const { mirror, onBehind } = this.#options;
    this.#lastMessage = performance.now();
    if (header.clusterId !== 0n) {
      this.#clusterId ??= header.clusterId;
      if (this.#clusterId !== header.clusterId) {
        this.#clusterId = header.clusterId;
        this.#lose('etcd has another cluster ID');
        return;
      }
    }
    if (canceled) {
      if (compactRevision > 0) this.#lose(`etcd has compacted revision ${compactRevision}`);
      else this.#reconnect(reason);
      return;
    }
    if (created && header.revision < mirror.reached) onBehind();
    this.#failures = 0;
    this.#problem = undefined;
    const events = this.#complete(response);
    if (events.length > 0) this.#awaitedSince = undefined;
    if (events.some(({ kv }) => kv.key === this.#epochKey && kv.modRevision > mirror.reached)) {
      this.#lose('the state of the cluster was replaced');
      return;
    }
    mirror.apply(events);
    if (watchId === -1n && events.length === 0 && this.#hasExactProgress) mirror.progress(header.revision);
  }

  /** The events of complete revisions, which this response and those before it have. */
  #complete({ events, isFragment }: WatchResponse): readonly EtcdEvent[] {
    if (events.length === 0) return events;
    const received = this.#incomplete.length === 0 ? events : [...this.#incomplete, ...events];
    const last = received.at(-1)?.kv.modRevision;
    const end = isFragment ? received.findIndex(({ kv }) => kv.modRevision === last) : received.length;
    this.#incomplete = received.slice(end);
    return received.slice(0, end);
  }

  /** Stops: later events must not be applied without those that are missing. */
  #lose(reason: string): void {
    this.suspend();
    this.#options.onLost(reason);
  }

  #check(): void {
    if (this.#stream === undefined) return;
    const now = performance.now();
    const silence = now - this.#lastMessage;
    this.#awaitedSince = this.#options.mirror.isAwaited ? (this.#awaitedSince ?? now) : undefined;
    if (silence > silentMs) this.#reconnect('no answer');
    // A member behind a partition may answer, but has no new events.
    else if (this.#awaitedSince !== undefined && now - this.#awaitedSince > silentMs) this.#reconnect('it is behind');
    else if (silence > quietMs || this.#awaitedSince !== undefined) this.requestProgress();
  }

  #reconnect(reason: string): void {
    this.#problem = `etcd ${this.#url}: ${reason}`;
    this.#drop();
    this.#options.client.leave(this.#url);
    if (this.#isClosed) return;
    const delay = Math.min(reconnectMs.first * 2 ** this.#failures++, reconnectMs.longest);
    setTimeout(() => {
      if (this.#stream === undefined) this.#open();
    }, delay).unref();
  }

  #drop(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.cancel();
  }
}

/** Earlier versions may answer before events that are on their way (KEP-2340). */
function hasExactProgress(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  if (major !== 3) return major > 3;
  if (minor === 4) return patch >= 31;
  return minor === 5 ? patch >= 13 : minor > 5;
}
