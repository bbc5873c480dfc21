import type { StatusError } from '../../api/errors.ts';
import { setTimeout } from '../../machine/timers.ts';
import type { Flushable, Flusher } from '../cache/flusher.ts';
import type { CacheEvent } from '../cache/history.ts';
import type { Item } from '../cache/item.ts';
import type { Watcher, Watchers } from '../cache/watchers.ts';
import type { OutputAccount, BufferedOutput } from '../limits/unsent-bytes.ts';
import type { WatchLimits } from '../limits/watch-limits.ts';
import type { EventType, Presenter } from '../negotiate/presenter.ts';
import type { Sink } from '../reply.ts';

export interface WatchStreamOptions {
  readonly presenter: Presenter;
  readonly sink: Sink;
  readonly scope: string;
  readonly exact: boolean;
  readonly watchers: Watchers;
  readonly flusher: Flusher;
  /** Whose watch it is, and what all watches may hold; default: a watch on its own. */
  readonly flow?: string;
  readonly limits?: WatchLimits;
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
/** Characters of the past that are read and written between two turns of the event loop. */
const batchWork = 1 << 18;
/** How much goes to the socket at once: what is encrypted in one go holds up everyone else. */
const chunkBytes = 1 << 18;

/**
 * One client's watch. Changes collect here and leave once per turn of the event loop; a client that does not read is
 * cut off rather than buffered for.
 *
 *     begin / resume ──► initial items or past changes ──► live changes ──► close (client gone, timeout, too slow)
 */
export class WatchStream implements Watcher, Flushable, BufferedOutput {
  readonly scope: string;
  readonly exact: boolean;
  readonly flow: string;
  readonly #options: WatchStreamOptions;
  readonly #open: OutputAccount | undefined;
  /** Under which names lines are shared; a name for every event and watcher would cost more than the rest. */
  readonly #forms: Readonly<Record<EventType, string>> | undefined;
  #timer: NodeJS.Timeout;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** Bytes of the last write, while the client has not taken them. */
  #unsentBytes = 0;
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
    this.flow = options.flow ?? '';
    this.#options = options;
    this.#open = options.limits?.open(this.flow, this);
    this.#forms = formsOf(options.presenter);
    this.#timer = this.#farewell(Math.min(options.timeoutMs, 2 ** 31 - 1));
    options.sink.onDrain(() => {
      this.#isBlocked = false;
      this.#open?.subtract(this.#unsentBytes);
      this.#unsentBytes = 0;
      this.#onDrained();
      if (!this.#isScheduled && !this.#isBeginning && this.#pending.length > 0) this.#schedule();
    });
    options.sink.onClose(() => this.close());
  }

  /** Sends `items` as they are now, then (if asked) a bookmark that says so, then what changes. */
  begin(items: Iterable<Item>): void {
    if (this.#isClosed) return;
    const { matches, presenter, bookmarks } = this.#options;
    const at = this.#options.revision();
    const past = {
      sizeOf: (item: Item) => item.entry.value.length,
      lineOf: (item: Item) =>
        matches === undefined || matches(item) ? eventLine('ADDED', presenter.object(item)) : '',
    };
    const end = (): Buffer | undefined =>
      bookmarks ? this.#bookmark(at, ',"annotations":{"k8s.io/initial-events-end":"true"}') : undefined;
    this.#follow(items, past, end);
  }

  /** Goes on after what the client has already seen. */
  resume(events: readonly CacheEvent[]): void {
    const { presenter } = this.#options;
    this.#follow(events, {
      sizeOf: ({ item, previous }) => (item ?? previous)?.entry.value.length ?? 0,
      lineOf: (event) => {
        const told = this.#inScope(event.key) ? this.#toldBy(event) : undefined;
        return told === undefined ? '' : eventLine(told.type, presenter.object(told.item, event.revision));
      },
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

  flush(): number {
    this.#isScheduled = false;
    if (this.#isClosed || this.#isBlocked || this.#isBeginning || this.#pending.length === 0) return 0;
    const chunk = this.#takeChunk();
    this.#write(chunk);
    if (this.#pending.length > 0 && !this.#isBlocked) this.#schedule();
    return chunk.length;
  }

  /** Ends the stream in order; what is pending goes out first. */
  end(): void {
    if (this.#isClosed) return;
    if (!this.#isBlocked && !this.#isBeginning && this.#pending.length > 0) {
      this.#options.sink.write(Buffer.concat(this.#pending));
    }
    this.close();
    this.#options.sink.end();
  }

  /** What is held for the client here and in its socket. */
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
    this.#open?.subtract(this.pendingBytes);
    this.#open?.close();
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#unsentBytes = 0;
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
  #follow<T>(past: Iterable<T>, form: PastForm<T>, end?: () => Buffer | undefined): void {
    if (this.#isClosed) return;
    this.#options.watchers.add(this);
    const goOn = (): void => {
      this.#isBeginning = false;
      const last = end?.();
      if (last !== undefined) {
        this.#pending.unshift(last);
        this.#pendingBytes += last.length;
        this.#open?.add(last.length);
      }
      this.flush();
    };
    const texts = batches(past, form);
    const first = texts.next();
    this.#isBeginning = first.done !== true;
    if (first.done !== true) void this.#sendPast(first.value, texts).then(goOn);
    else {
      if (first.value !== '') this.#write(Buffer.from(first.value));
      goOn();
    }
  }

  /** At the client's pace, so that a long past is never held whole. */
  async #sendPast(first: string, rest: Iterator<string, string>): Promise<void> {
    for (let next: IteratorResult<string, string> = { value: first }; ; next = rest.next()) {
      const isBehind = next.value !== '' && !this.#write(Buffer.from(next.value));
      if (next.done === true) return;
      await (isBehind ? this.#drained() : this.#options.flusher.turn(this.flow));
      if (this.#isClosed) return;
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
    if (this.#forms === undefined) return encode();
    event.lines ??= new Map();
    return event.lines.getOrInsertComputed(this.#forms[type], encode);
  }

  #bookmark(revision: number, annotations: string): Buffer {
    return Buffer.from(`{"type":"BOOKMARK","object":${this.#options.presenter.bookmark(revision, annotations)}}\n`);
  }

  #push(line: Buffer): void {
    if (this.#isClosed) return;
    this.#pending.push(line);
    this.#pendingBytes += line.length;
    this.#open?.add(line.length);
    if (this.#pendingBytes > maxPendingBytes) this.abort();
    else if (!this.#isScheduled && !this.#isBlocked && !this.#isBeginning) this.#schedule();
  }

  #schedule(): void {
    this.#isScheduled = true;
    this.#options.flusher.schedule(this);
  }

  /** The next lines, as much as one write should have. */
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
    this.#open?.subtract(bytes);
    return this.#options.flusher.lines.join(lines);
  }

  /** False: the client has to take it before more is sent. */
  #write(chunk: Buffer): boolean {
    const isTaken = this.#options.sink.write(chunk);
    if (!isTaken && !this.#isClosed) {
      this.#unsentBytes = chunk.length;
      this.#open?.add(chunk.length);
    }
    this.#isBlocked = !isTaken;
    return isTaken;
  }

  #inScope(key: string): boolean {
    return this.exact ? key === this.scope : key.startsWith(this.scope);
  }
}

/** How the past of a watch is written: what it costs to read an entry, and its line; '' for none. */
interface PastForm<T> {
  readonly sizeOf: (entry: T) => number;
  readonly lineOf: (entry: T) => string;
}

/**
 * The lines of a watch's past in batches of bounded work; the last one is returned, so that nobody waits for a turn to
 * find that there is nothing more. An entry that a selector leaves out was read all the same.
 */
function* batches<T>(past: Iterable<T>, { sizeOf, lineOf }: PastForm<T>): Generator<string, string> {
  let text = '';
  let work = 0;
  for (const entry of past) {
    const line = lineOf(entry);
    text += line;
    work += sizeOf(entry) + line.length;
    if (work < batchWork) continue;
    yield text;
    text = '';
    work = 0;
  }
  return text;
}

function formsOf({ shared }: Presenter): Readonly<Record<EventType, string>> | undefined {
  if (shared === undefined) return undefined;
  return { ADDED: `ADDED ${shared}`, MODIFIED: `MODIFIED ${shared}`, DELETED: `DELETED ${shared}` };
}

const eventLine = (type: EventType, object: string): string => `{"type":"${type}","object":${object}}\n`;
