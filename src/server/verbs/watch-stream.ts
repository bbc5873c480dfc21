import type { StatusError } from '../../api/errors.ts';
import type { Flushable, Flusher } from '../cache/flusher.ts';
import type { CacheEvent } from '../cache/history.ts';
import type { Item } from '../cache/item.ts';
import type { Watcher, Watchers } from '../cache/watchers.ts';
import type { EventType, Presenter } from '../negotiate/presenter.ts';
import type { Sink } from '../reply.ts';

export interface WatchStreamOptions {
  readonly presenter: Presenter;
  readonly sink: Sink;
  readonly scope: string;
  readonly exact: boolean;
  readonly watchers: Watchers;
  readonly flusher: Flusher;
  /** Undefined: everything in scope. */
  readonly matches: ((item: Item) => boolean) | undefined;
  readonly bookmarks: boolean;
  /** How far the cache has come. */
  readonly revision: () => number;
  /** The client has seen everything up to this revision, which may lie in the future. */
  readonly after: number;
  readonly timeoutMs: number;
}

/** A client this far behind is cut off; it resumes from the last revision it saw. */
const maxPendingBytes = 16 << 20;
/** This long before its time is up, a watch says how far it has come, so that the client resumes from there. */
const farewellMs = 2000;
/** How much of the past is encoded between two turns of the event loop. */
const batch = { lines: 500, length: 1 << 20 };

/**
 * One client's watch. Changes collect here and leave once per turn of the event loop; a client that does not read is
 * cut off rather than buffered for.
 *
 *     begin / resume ──► initial items or past changes ──► live changes ──► close (client gone, timeout, too slow)
 */
export class WatchStream implements Watcher, Flushable {
  readonly scope: string;
  readonly exact: boolean;
  readonly #options: WatchStreamOptions;
  #timer: NodeJS.Timeout;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #isScheduled = false;
  /** The client has not taken the last write yet. */
  #isBlocked = false;
  /** The past is still going out; changes wait behind it. */
  #isBeginning = false;
  #isClosed = false;
  /** Lets the past go on. */
  #onDrained: () => void = () => undefined;

  constructor(options: WatchStreamOptions) {
    this.scope = options.scope;
    this.exact = options.exact;
    this.#options = options;
    this.#timer = this.#farewell(Math.min(options.timeoutMs, 2 ** 31 - 1));
    options.sink.onDrain(() => {
      this.#isBlocked = false;
      this.#onDrained();
      this.flush();
    });
    options.sink.onClose(() => this.close());
  }

  /** Sends `items` as they are now, then (if asked) a bookmark that says so, then what changes. */
  begin(items: readonly Item[]): void {
    if (this.#isClosed) return;
    const { matches, presenter, bookmarks } = this.#options;
    const at = this.#options.revision();
    this.#follow(
      items,
      (item) => (matches === undefined || matches(item) ? eventLine('ADDED', presenter.object(item)) : ''),
      () => (bookmarks ? this.#bookmark(at, ',"annotations":{"k8s.io/initial-events-end":"true"}') : undefined),
    );
  }

  /** Goes on after what the client has already seen. */
  resume(events: readonly CacheEvent[]): void {
    const { presenter } = this.#options;
    this.#follow(events, (event) => {
      const told = this.#inScope(event.key) ? this.#toldBy(event) : undefined;
      return told === undefined ? '' : eventLine(told.type, presenter.object(told.item, event.revision));
    });
  }

  /** Ends the watch with an error event. */
  fail({ status }: StatusError): void {
    this.#push(Buffer.from(`{"type":"ERROR","object":${JSON.stringify(status)}}\n`));
    this.end();
  }

  notify(event: CacheEvent): void {
    const told = this.#toldBy(event);
    if (told !== undefined) this.#push(this.#line(told.type, told.item, event));
  }

  progress(revision: number): void {
    if (this.#options.bookmarks && !this.#isBeginning) this.#push(this.#bookmark(revision, ''));
  }

  flush(): void {
    this.#isScheduled = false;
    if (this.#isClosed || this.#isBlocked || this.#isBeginning || this.#pending.length === 0) return;
    const [first] = this.#pending;
    const chunk = this.#pending.length === 1 && first !== undefined ? first : Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#isBlocked = !this.#options.sink.write(chunk);
  }

  /** Ends the stream in order; what is pending goes out first. */
  end(): void {
    if (this.#isClosed) return;
    this.flush();
    this.close();
    this.#options.sink.end();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#options.watchers.remove(this);
    this.#pending = [];
    this.#onDrained();
  }

  /** What a change means to this client; undefined: nothing. */
  #toldBy({ revision, item, previous }: CacheEvent): { readonly type: EventType; readonly item: Item } | undefined {
    const { matches, after } = this.#options;
    if (revision <= after) return undefined;
    const isIn = item !== undefined && (matches === undefined || matches(item));
    const wasIn = previous !== undefined && (matches === undefined || matches(previous));
    if (isIn) return { type: wasIn ? 'MODIFIED' : 'ADDED', item };
    return wasIn ? { type: 'DELETED', item: previous } : undefined;
  }

  /** Follows the resource from now on, but sends the past first, and `end` between the two. */
  #follow<T>(past: readonly T[], lineOf: (entry: T) => string, end?: () => Buffer | undefined): void {
    if (this.#isClosed) return;
    this.#options.watchers.add(this);
    const goOn = (): void => {
      this.#isBeginning = false;
      const last = end?.();
      if (last !== undefined) this.#pending.unshift(last);
      this.flush();
    };
    this.#isBeginning = past.length > 0;
    if (this.#isBeginning) void this.#sendPast(past, lineOf).then(goOn);
    else goOn();
  }

  /** At the client's pace, so that a long past is never held whole. */
  async #sendPast<T>(past: readonly T[], lineOf: (entry: T) => string): Promise<void> {
    for (let at = 0; at < past.length && !this.#isClosed;) {
      let text = '';
      for (const end = at + batch.lines; at < Math.min(end, past.length) && text.length < batch.length; at++) {
        const entry = past[at];
        if (entry !== undefined) text += lineOf(entry);
      }
      if (text !== '' && !this.#options.sink.write(Buffer.from(text))) await this.#drained();
      else await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => (this.#onDrained = resolve));
  }

  #farewell(timeoutMs: number): NodeJS.Timeout {
    const { bookmarks, revision } = this.#options;
    if (!bookmarks || timeoutMs <= farewellMs) return setTimeout(() => this.end(), timeoutMs);
    return setTimeout(() => {
      this.progress(revision());
      this.#timer = setTimeout(() => this.end(), farewellMs);
    }, timeoutMs - farewellMs);
  }

  /** Watchers that want the same form share the encoded line. */
  #line(type: EventType, item: Item, event: CacheEvent): Buffer {
    const { presenter } = this.#options;
    const encode = (): Buffer => Buffer.from(eventLine(type, presenter.object(item, event.revision)));
    if (presenter.shared === undefined) return encode();
    event.lines ??= new Map();
    return event.lines.getOrInsertComputed(`${type} ${presenter.shared}`, encode);
  }

  #bookmark(revision: number, annotations: string): Buffer {
    return Buffer.from(`{"type":"BOOKMARK","object":${this.#options.presenter.bookmark(revision, annotations)}}\n`);
  }

  #push(line: Buffer): void {
    if (this.#isClosed) return;
    this.#pending.push(line);
    this.#pendingBytes += line.length;
    if (this.#pendingBytes > maxPendingBytes) {
      this.close();
      this.#options.sink.cut();
      return;
    }
    if (this.#isScheduled || this.#isBlocked || this.#isBeginning) return;
    this.#isScheduled = true;
    this.#options.flusher.schedule(this);
  }

  #inScope(key: string): boolean {
    return this.exact ? key === this.scope : key.startsWith(this.scope);
  }
}

const eventLine = (type: EventType, object: string): string => `{"type":"${type}","object":${object}}\n`;
