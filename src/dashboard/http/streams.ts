// All open streams, and what they share.
import type { ServerResponse } from 'node:http';
import { setInterval } from '../../machine/timers.ts';
import type { Board, Changes } from '../server/board.ts';
import { owner } from '../server/viewer.ts';
import type { EndReason } from './row-stream.ts';
import { deltaText, RowStream } from './row-stream.ts';
import { OwnerTexts, textsFor } from './row-texts.ts';
import type { Session } from './sessions.ts';

export interface StreamsOptions {
  readonly board: () => Board;
  /** How often rights are reviewed, and connections kept open. */
  readonly reviewMs: number;
  /** Default 64. */
  readonly max?: number;
  /** Browsers open six connections to a server over all tabs: more streams would block everything else. Default 4. */
  readonly maxPerSession?: number;
}

/** Counts since the start, for metrics. */
export interface StreamCounts {
  rowsSent: number;
  slowWrites: number;
}

interface OpenStream {
  readonly stream: RowStream;
  readonly session: Session;
}

/** Sends rows and their changes to every open page. */
export class Streams implements Disposable {
  readonly counts: StreamCounts = { rowsSent: 0, slowWrites: 0 };
  readonly #options: Required<StreamsOptions>;
  readonly #open = new Set<OpenStream>();
  /** While a stream of the owner is open. */
  #ownerTexts: OwnerTexts | undefined;
  #unsubscribe: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor({ board, reviewMs, max = 64, maxPerSession = 4 }: StreamsOptions) {
    this.#options = { board, reviewMs, max, maxPerSession };
  }

  get size(): number {
    return this.#open.size;
  }

  /** Whether one more stream may be opened. */
  get hasRoom(): boolean {
    return this.#open.size < this.#options.max;
  }

  /** Sends the rows that the session may see, until the connection or the session ends. */
  open(session: Session, response: ServerResponse): void {
    this.#start();
    const { viewer } = session;
    const board = this.#options.board();
    if (viewer.isOwner) this.#ownerTexts ??= new OwnerTexts(board, viewer);
    const stream = new RowStream({
      response,
      rows: viewer.isOwner && this.#ownerTexts !== undefined ? this.#ownerTexts : textsFor(board, viewer),
      isFiltered: !viewer.isOwner,
      onSent: (rows) => {
        this.counts.rowsSent += rows;
        if (viewer.hasUnknown) void this.#review(session);
      },
      onSlow: () => this.counts.slowWrites++,
      onClosed: () => {
        this.#open.delete(entry);
        session.streams.delete(end);
        this.#stopIfIdle();
      },
    });
    const entry = { stream, session };
    const end = (reason: EndReason): void => {
      session.streams.delete(end);
      stream.end(reason);
    };
    this.#open.add(entry);
    session.streams.add(end);
    const [oldest] = session.streams;
    if (session.streams.size > this.#options.maxPerSession) oldest?.('replaced');
  }

  [Symbol.dispose](): void {
    for (const { stream } of this.#open) stream.close();
    this.#open.clear();
    this.#stopIfIdle();
  }

  #start(): void {
    this.#unsubscribe ??= this.#options.board().subscribe((changes) => this.#changed(changes));
    this.#timer ??= setInterval(() => void this.#tend(), this.#options.reviewMs).unref();
  }

  #stopIfIdle(): void {
    if (this.#open.size > 0) return;
    this.#unsubscribe?.();
    clearInterval(this.#timer);
    [this.#unsubscribe, this.#timer, this.#ownerTexts] = [undefined, undefined, undefined];
  }

  #changed(changes: Changes): void {
    const texts = this.#ownerTexts;
    const ids = texts?.renew(changes) ?? [];
    const shared =
      texts === undefined || ids.length + changes.events.length === 0 ? undefined : sharedText(texts, ids, changes);
    for (const { stream, session } of this.#open) {
      if (session.viewer !== owner) {
        const isVisible = ({ cluster, namespace }: Changes['events'][number]): boolean =>
          session.viewer.rightsIn(cluster, namespace).events;
        stream.changed(changes.ids, changes.events.filter(isVisible));
      } else if (shared !== undefined) {
        stream.changed(ids, changes.events, shared);
        this.counts.rowsSent += ids.length;
      }
    }
  }

  /** Keeps connections open, and reviews the rights of viewers. */
  async #tend(): Promise<void> {
    const sessions = new Set(Array.from(this.#open, ({ session }) => session));
    for (const { stream } of this.#open) stream.keepAlive();
    await Promise.all(Array.from(sessions, (session) => this.#review(session)));
  }

  /** Sends rows that became visible to a viewer, and removes rows that no longer are. */
  async #review({ viewer, streams }: Session): Promise<void> {
    if (!(await viewer.review())) return;
    if (!viewer.isValid) for (const end of streams) end('signed out');
    for (const { stream, session } of this.#open) if (session.viewer === viewer) stream.refresh();
  }
}

function sharedText(texts: OwnerTexts, ids: readonly string[], { events }: Changes): string {
  const set: string[] = [];
  const gone: string[] = [];
  for (const id of ids) {
    const text = texts.text(id);
    if (text === undefined) gone.push(id);
    else set.push(text);
  }
  return deltaText(set, gone, events);
}
