// Who is signed in.
import { createHash, randomBytes } from 'node:crypto';
import type { Viewer } from '../server/viewer.ts';
import type { EndReason } from './row-stream.ts';

/** One signed-in browser. */
export interface Session {
  readonly viewer: Viewer;
  /** Milliseconds of the monotonic clock. */
  lastUsedMs: number;
  /** Ends one of its streams each, the oldest first. */
  readonly streams: Set<(reason: EndReason) => void>;
}

export interface SessionsOptions {
  /** The monotonic clock. */
  readonly now: () => number;
  /** One more signs out the session that was unused for longest. Default 256. */
  readonly max?: number;
  /** A session without streams ends after this time. Default 12 hours. */
  readonly idleMs?: number;
}

/** The signed-in browsers, in memory: all are signed out when the process ends. */
export class Sessions {
  readonly #options: Required<SessionsOptions>;
  /** Hash of the id → session, the longest unused first. A lookup by hash takes the same time for any wrong id. */
  readonly #sessions = new Map<string, Session>();

  constructor({ now, max = 256, idleMs = 12 * 3_600_000 }: SessionsOptions) {
    this.#options = { now, max, idleMs };
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Signs a viewer in. The result is the id for the cookie. */
  add(viewer: Viewer): string {
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size >= this.#options.max && oldest !== undefined) this.#end(oldest);
    const id = randomBytes(32).toString('base64url');
    this.#sessions.set(hashOf(id), { viewer, lastUsedMs: this.#options.now(), streams: new Set() });
    return id;
  }

  /** The session of an id, which counts as used now. */
  use(id: string): Session | undefined {
    const key = hashOf(id);
    const session = this.#sessions.get(key);
    if (session === undefined) return undefined;
    session.lastUsedMs = this.#options.now();
    this.#sessions.delete(key);
    this.#sessions.set(key, session);
    return session;
  }

  remove(id: string): void {
    this.#end(hashOf(id));
  }

  /** Ends sessions that were not used for too long. */
  expire(): void {
    const { now, idleMs } = this.#options;
    for (const [key, { lastUsedMs, streams }] of this.#sessions) {
      if (streams.size === 0 && now() - lastUsedMs > idleMs) this.#end(key);
    }
  }

  /** Ends all sessions and closes their streams. */
  clear(): void {
    for (const key of this.#sessions.keys()) this.#end(key);
  }

  #end(key: string): void {
    const session = this.#sessions.get(key);
    this.#sessions.delete(key);
    for (const end of session?.streams ?? []) end('signed out');
    session?.viewer[Symbol.dispose]();
  }
}

const hashOf = (id: string): string => createHash('sha256').update(id).digest('base64');
