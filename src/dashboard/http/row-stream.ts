// One open stream of rows, as server-sent events.
//
//     idle ── change ─► write ──► accepted: idle
//                         └─────► the client is slow: behind ── drained ─► write the rows of the collected ids ─► …
//
// A client that is behind costs the ids of the rows that changed, however long it takes: they are sent as they are then.
import type { ServerResponse } from 'node:http';
import { setTimeout, yieldToEventLoop } from '../../machine/timers.ts';
import type { EventRow } from '../view/rows.ts';
import type { RowTexts } from './row-texts.ts';

export interface RowStreamOptions {
  readonly response: ServerResponse;
  readonly rows: RowTexts;
  /** Whether only some rows are visible: the ids of others must not be sent. */
  readonly isFiltered: boolean;
  readonly onSent: (rows: number) => void;
  /** Called when the client did not accept a message at once. */
  readonly onSlow: () => void;
  readonly onClosed: () => void;
}

/** Why a stream ends for good: another stream of the same browser replaced it, or the session ended. */
export type EndReason = 'replaced' | 'signed out';

/** Rows in one message. */
const batch = 250;
/** A client that accepts nothing for this long is disconnected; its page connects again. */
const slowestMs = 30_000;
/** How long a client may take to read the last message. */
const flushMs = 1000;
/** More ids than the largest sets of clusters have rows: all of them are gone and made again. */
const maxDirty = 500_000;

/** A message of the stream, from the JSON of rows, ids and Events. */
export function deltaText(
  set: readonly string[],
  gone: readonly string[] = [],
  events: readonly EventRow[] = [],
): string {
  const parts = [
    ...(set.length === 0 ? [] : [`"set":[${set.join(',')}]`]),
    ...(gone.length === 0 ? [] : [`"gone":${JSON.stringify(gone)}`]),
    ...(events.length === 0 ? [] : [`"events":${JSON.stringify(events)}`]),
  ];
  return messageText(`{${parts.join(',')}}`);
}

const messageText = (json: string): string => `data: ${json}\n\n`;

/** Sends all rows, then every change, until the client or the server closes the stream. */
export class RowStream {
  readonly #options: RowStreamOptions;
  /** Ids of rows to send; all of them at the start. */
  readonly #dirty = new Set<string>();
  /** Ids that the client has; only of filtered streams. */
  readonly #sent = new Set<string>();
  #isPumping = false;
  #isClosed = false;

  constructor(options: RowStreamOptions) {
    this.#options = options;
    const { response, onClosed } = options;
    response.once('close', () => {
      this.#isClosed = true;
      this.#dirty.clear();
      onClosed();
    });
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    this.#write(`retry: 1000\n${messageText('{"isReset":true}')}`);
    void this.#begin();
  }

  /** Sends changes; `shared` is their message if other streams send the same. */
  changed(ids: Iterable<string>, events: readonly EventRow[], shared?: string): void {
    if (this.#isClosed) return;
    if (this.#isPumping || this.#dirty.size > 0 || shared === undefined) {
      for (const id of ids) this.#dirty.add(id);
      if (this.#dirty.size > maxDirty) this.close();
      else void this.#pump(events);
    } else if (!this.#write(shared)) void this.#pump();
  }

  /** Sends every row again, and the removal of those that are no longer visible. */
  refresh(): void {
    this.changed([...this.#sent, ...this.#options.rows.ids()], []);
  }

  /** Keeps proxies and the client from treating the connection as dead. */
  keepAlive(): void {
    if (!this.#isPumping && !this.#isClosed) this.#write(':\n\n');
  }

  /** Ends the stream for a reason that the page shows: it does not connect again by itself. */
  end(reason: EndReason): void {
    const { response } = this.#options;
    this.#isClosed = true; // nothing may be written after the end
    response.end(`event: end\n${messageText(JSON.stringify({ reason }))}`);
    setTimeout(() => response.destroy(), flushMs).unref();
  }

  close(): void {
    this.#options.response.destroy();
  }

  async #begin(): Promise<void> {
    for (const id of this.#options.rows.ids()) this.#dirty.add(id);
    await this.#pump();
    this.#write(messageText('{"isComplete":true}'));
  }

  /** Sends the rows of all collected ids, at the pace of the client. */
  async #pump(events: readonly EventRow[] = []): Promise<void> {
    // Clients that are behind receive no Events: people read only current ones.
    if (this.#isPumping) return;
    this.#isPumping = true;
    let rest = events;
    do {
      if (this.#options.response.writableNeedDrain) await this.#drained();
      const ids = this.#take();
      const text = this.#textOf(ids, rest);
      rest = [];
      if (text !== undefined && !this.#isClosed) this.#write(text);
      await yieldToEventLoop();
    } while (this.#dirty.size > 0 && !this.#isClosed);
    this.#isPumping = false;
  }

  #take(): readonly string[] {
    const ids: string[] = [];
    for (const id of this.#dirty) {
      ids.push(id);
      this.#dirty.delete(id);
      if (ids.length === batch) break;
    }
    return ids;
  }

  #textOf(ids: readonly string[], events: readonly EventRow[]): string | undefined {
    const { rows, isFiltered, onSent } = this.#options;
    const set: string[] = [];
    const gone: string[] = [];
    for (const id of ids) {
      const text = rows.text(id);
      if (text !== undefined) set.push(text);
      else if (!isFiltered || this.#sent.has(id)) gone.push(id);
      if (!isFiltered) continue;
      if (text === undefined) this.#sent.delete(id);
      else this.#sent.add(id);
    }
    onSent(set.length + gone.length);
    return set.length + gone.length + events.length === 0 ? undefined : deltaText(set, gone, events);
  }

  /** Resolves when the client has accepted what was written, or the stream is closed. */
  async #drained(): Promise<void> {
    const { response, onSlow } = this.#options;
    onSlow();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => this.close(), slowestMs);
    response.once('drain', resolve).once('close', resolve);
    await promise;
    response.off('drain', resolve).off('close', resolve);
    clearTimeout(timer);
  }

  #write(text: string): boolean {
    return this.#isClosed || this.#options.response.write(text);
  }
}
