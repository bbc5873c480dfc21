import type { StatusError } from '../../api/errors.ts';
import { setTimeout } from '../../machine/timers.ts';
import type { Flushable, Flusher } from '../cache/flusher.ts';
import type { CacheEvent } from '../cache/history.ts';
import type { Item } from '../cache/item.ts';
import type { Watcher } from '../cache/watchers.ts';
import type { OutputAccount, BufferedOutput } from '../limits/unsent-bytes.ts';
import type { WatchLimits } from '../limits/watch-limits.ts';
import type { EventType, Presenter } from '../negotiate/presenter.ts';
import type { Sink } from '../reply.ts';
import { getOrCompute } from '../../api/maps.ts';

export interface WatchStreamOptions {
  readonly presenter: Presenter;
  readonly sink: Sink;
  readonly scope: string;
  readonly exact: boolean;
  readonly watchers: { add(watcher: Watcher): void; remove(watcher: Watcher): void };
  readonly flusher: Flusher;
  /** The flow of the watch and the limits of all watches; default: no limits. */
  readonly flow?: string;
  readonly limits?: WatchLimits;
  readonly matches: ((item: Item) => boolean) | undefined;
  readonly bookmarks: boolean;
  readonly revision: () => number;
  /** The client has all changes up to this revision, which may be in the future. */
  readonly seenRevision: number;
  readonly timeoutMs: number;
}

/** A client that is further behind is disconnected; it resumes from its last revision. */
const maxPendingBytes = 16 << 20;
/** A watch sends a last bookmark this long before it ends, from which the client resumes. */
const finalBookmarkMs = 2000;
/** Characters of past changes that are read and written in one turn of the event loop. */
const batchWork = 1 << 18;
/** The size of one write to the socket: encrypting it blocks the event loop. */
const chunkBytes = 1 << 18;

/**
 * The watch of one client. Collects changes and sends them once per turn of the event loop; a client that falls too far
 * behind is disconnected.
 *
 *     begin / resume ──► initial items or past changes ──► live changes ──► close (disconnect, timeout, too far behind)
 */
export class WatchStream implements Watcher, Flushable, BufferedOutput {
  readonly scope: string;
  readonly exact: boolean;
  readonly flow: string;
  readonly #options: WatchStreamOptions;
  readonly #account: OutputAccount | undefined;
  /** The keys of shared lines, built once: building one for each event would dominate the cost. */
  readonly #forms: Readonly<Record<EventType, string>> | undefined;
  #timer: NodeJS.Timeout;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** Bytes of the last write that the client has not read. */
  #unsentBytes = 0;
  #isScheduled = false;
  /** The client has not read the last write yet. */
  #isBlocked = false;
  /** Initial items or past changes are being sent; live changes wait. */
  #isReplaying = false;
  #isClosed = false;
  #onDrained: () => void = () => undefined;

  constructor(options: WatchStreamOptions) {
    this.scope = options.scope;
    this.exact = options.exact;
    this.flow = options.flow ?? '';
    this.#options = options;
    this.#account = options.limits?.open(this.flow, this);
    this.#forms = formsOf(options.presenter);
    this.#timer = this.#endTimer(Math.min(options.timeoutMs, 2 ** 31 - 1));
    options.sink.onDrain(() => {
      this.#isBlocked = false;
      this.#account?.subtract(this.#unsentBytes);
      this.#unsentBytes = 0;
      this.#onDrained();
      if (!this.#isScheduled && !this.#isReplaying && this.#pending.length > 0) this.#schedule();
    });
    options.sink.onClose(() => this.close());
  }

  /** Sends `items`, then a bookmark if requested, then live changes. */
  begin(items: Iterable<Item>): void {
    if (this.#isClosed) return;
    const { matches, presenter, bookmarks } = this.#options;
    const at = this.#options.revision();
    const past = {
      sizeOf: (item: Item) => item.entry.value.length,
      eventOf: (item: Item) => (matches === undefined || matches(item) ? presenter.event('ADDED', item) : ''),
    };
    const end = (): Buffer | undefined => (bookmarks ? Buffer.from(presenter.bookmark(at, true)) : undefined);
    this.#follow(items, past, end);
  }

  /** Sends `events`, then live changes. */
  resume(events: readonly CacheEvent[]): void {
    const { presenter } = this.#options;
    this.#follow(events, {
      sizeOf: ({ item, previous }) => (item ?? previous)?.entry.value.length ?? 0,
      eventOf: (event) => {
        const change = this.#inScope(event.key) ? this.#eventFor(event) : undefined;
        return change === undefined ? '' : presenter.event(change.type, change.item, event.revision);
      },
    });
  }

  fail({ status }: StatusError): void {
    this.#push(Buffer.from(this.#options.presenter.error(status)));
    this.end();
  }

  notify(event: CacheEvent): void {
    const change = this.#eventFor(event);
    if (change !== undefined) this.#push(this.#line(change.type, change.item, event));
  }

  progress(revision: number): void {
    const { bookmarks, presenter } = this.#options;
    if (bookmarks && !this.#isReplaying) this.#push(Buffer.from(presenter.bookmark(revision, false)));
  }

  flush(): number {
    this.#isScheduled = false;
    if (this.#isClosed || this.#isBlocked || this.#isReplaying || this.#pending.length === 0) return 0;
    const chunk = this.#takeChunk();
    this.#write(chunk);
    if (this.#pending.length > 0 && !this.#isBlocked) this.#schedule();
    return chunk.length;
  }

  /** Ends the stream after sending what is pending. */
  end(): void {
    if (this.#isClosed) return;
    if (!this.#isBlocked && !this.#isReplaying && this.#pending.length > 0) {
      this.#options.sink.write(Buffer.concat(this.#pending));
    }
    this.close();
    this.#options.sink.end();
  }

  /** Bytes that wait here and in the socket. */
  get pendingBytes(): number {
    return this.#pendingBytes + this.#unsentBytes;
  }

  abort(): void {
    this.close();
    this.#options.sink.abort();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#options.watchers.remove(this);
    this.#account?.subtract(this.pendingBytes);
    this.#account?.close();
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#unsentBytes = 0;
    this.#onDrained();
  }

  /** The event that a change causes for this client, if any. */
  #eventFor({ revision, item, previous }: CacheEvent): { readonly type: EventType; readonly item: Item } | undefined {
    const { matches, seenRevision } = this.#options;
    if (revision <= seenRevision) return undefined;
    const isIn = item !== undefined && (matches === undefined || matches(item));
    const wasIn = previous !== undefined && (matches === undefined || matches(previous));
    if (isIn) return { type: wasIn ? 'MODIFIED' : 'ADDED', item };
    return wasIn ? { type: 'DELETED', item: previous } : undefined;
  }

  /** Subscribes to live changes, but sends the past first, followed by `end`. */
  #follow<T>(past: Iterable<T>, form: PastEncoder<T>, end?: () => Buffer | undefined): void {
    if (this.#isClosed) return;
    this.#options.watchers.add(this);
    const finishReplay = (): void => {
      this.#isReplaying = false;
      const last = end?.();
      if (last !== undefined) {
        this.#pending.unshift(last);
        this.#pendingBytes += last.length;
        this.#account?.add(last.length);
      }
      this.flush();
    };
    const texts = batches(past, form);
    const first = texts.next();
    this.#isReplaying = first.done !== true;
    if (first.done !== true) void this.#replay(first.value, texts).then(finishReplay);
    else {
      if (first.value.length > 0) this.#write(first.value);
      finishReplay();
    }
  }

  /** Sends the past at the pace of the client, so that it is never buffered as a whole. */
  async #replay(first: Buffer, rest: Iterator<Buffer, Buffer>): Promise<void> {
    for (let next: IteratorResult<Buffer, Buffer> = { value: first }; ; next = rest.next()) {
      const isBehind = next.value.length > 0 && !this.#write(next.value);
      if (next.done === true) return;
      await (isBehind ? this.#drained() : this.#options.flusher.turn(this.flow));
      if (this.#isClosed) return;
    }
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => (this.#onDrained = resolve));
  }

  #endTimer(timeoutMs: number): NodeJS.Timeout {
    const { bookmarks, revision } = this.#options;
    if (!bookmarks || timeoutMs <= finalBookmarkMs) return setTimeout(() => this.end(), timeoutMs);
    return setTimeout(() => {
      this.progress(revision());
      this.#timer = setTimeout(() => this.end(), finalBookmarkMs);
    }, timeoutMs - finalBookmarkMs);
  }

  /** Watches of the same representation share the encoded line. */
  #line(type: EventType, item: Item, event: CacheEvent): Buffer {
    const { presenter } = this.#options;
    const encode = (): Buffer => Buffer.from(presenter.event(type, item, event.revision));
    if (this.#forms === undefined) return encode();
    event.lines ??= new Map();
    return getOrCompute(event.lines, this.#forms[type], encode);
  }

  #push(line: Buffer): void {
    if (this.#isClosed) return;
    this.#pending.push(line);
    this.#pendingBytes += line.length;
    this.#account?.add(line.length);
    if (this.#pendingBytes > maxPendingBytes) this.abort();
    else if (!this.#isScheduled && !this.#isBlocked && !this.#isReplaying) this.#schedule();
  }

  #schedule(): void {
    this.#isScheduled = true;
    this.#options.flusher.schedule(this);
  }

  #takeChunk(): Buffer {
    let count = 0;
    let bytes = 0;
    for (const line of this.#pending) {
      if (count > 0 && bytes + line.length > chunkBytes) break;
      bytes += line.length;
      count++;
    }
    const lines = count === this.#pending.length ? this.#pending : this.#pending.slice(0, count);
    this.#pending = lines === this.#pending ? [] : this.#pending.slice(count);
    this.#pendingBytes -= bytes;
    this.#account?.subtract(bytes);
    return this.#options.flusher.lines.join(lines);
  }

  /** Returns false if the client has to read it before more is sent. */
  #write(chunk: Buffer): boolean {
    const isRead = this.#options.sink.write(chunk);
    if (!isRead && !this.#isClosed) {
      this.#unsentBytes = chunk.length;
      this.#account?.add(chunk.length);
    }
    this.#isBlocked = !isRead;
    return isRead;
  }

  #inScope(key: string): boolean {
    return this.exact ? key === this.scope : key.startsWith(this.scope);
  }
}

/** Encodes the past of a watch: the cost of an entry, and its event or ''. */
interface PastEncoder<T> {
  readonly sizeOf: (entry: T) => number;
  readonly eventOf: (entry: T) => string | Buffer;
}

/**
 * The events of a watch's past in batches of bounded work. Returns the last batch instead of yielding it, to save a turn.
 * Entries that a selector excludes count too, since they were read.
 */
function* batches<T>(past: Iterable<T>, { sizeOf, eventOf }: PastEncoder<T>): Generator<Buffer, Buffer> {
  let text = '';
  let frames: Buffer[] = [];
  let work = 0;
  for (const entry of past) {
    const event = eventOf(entry);
    if (typeof event === 'string') text += event;
    else frames.push(event);
    work += sizeOf(entry) + event.length;
    if (work < batchWork) continue;
    yield joined(text, frames);
    text = '';
    frames = [];
    work = 0;
  }
  return joined(text, frames);
}

/** Events are all text or all frames. */
const joined = (text: string, frames: readonly Buffer[]): Buffer =>
  frames.length > 0 ? Buffer.concat(frames) : Buffer.from(text);

function formsOf({ shared }: Presenter): Readonly<Record<EventType, string>> | undefined {
  if (shared === undefined) return undefined;
  return { ADDED: `ADDED ${shared}`, MODIFIED: `MODIFIED ${shared}`, DELETED: `DELETED ${shared}` };
}
