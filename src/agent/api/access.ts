import type { TLSSocket } from 'node:tls';

import type { Permission } from './route.ts';

/** The caller of a request. */
export interface Caller {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** Asks the API server about callers. */
export interface Reviews {
  /** The user of a token; undefined: the token is not valid. */
  authenticate(token: string): Promise<Caller | undefined>;
  isAllowed(caller: Caller, permission: Permission): Promise<boolean>;
}

/** How long answers of the API server are used, as in a kubelet. */
const tokenMs = 2 * 60_000;
const allowedMs = 5 * 60_000;
const deniedMs = 30_000;
const maxCached = 1000;

/** Decides who may call the server of this node. Answers of the API server are kept for a while. */
export class Access {
  readonly #reviews: Reviews;
  readonly #cache = new Map<string, { readonly value: Promise<unknown>; readonly until: number }>();

  constructor(reviews: Reviews) {
    this.#reviews = reviews;
  }

  /** The caller of a request: by its client certificate, else by its token. Undefined: it has no valid credential. */
  async identify(socket: TLSSocket, authorization: string | undefined): Promise<Caller | undefined> {
    const byCertificate = callerOf(socket);
    if (byCertificate !== undefined) return byCertificate;
    const token = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) return undefined;
    return this.#cached(
      `token ${token}`,
      () => this.#reviews.authenticate(token),
      (caller) => (caller === undefined ? deniedMs : tokenMs),
    );
  }

  /** Whether the caller has one permission of each list. */
  async isAllowed(caller: Caller, needed: readonly (readonly Permission[])[]): Promise<boolean> {
    for (const alternatives of needed) {
      let allowed = false;
      for (const permission of alternatives) {
        const key = JSON.stringify([caller, permission]);
        const ask = (): Promise<boolean> => this.#reviews.isAllowed(caller, permission);
        allowed ||= await this.#cached(key, ask, (is) => (is ? allowedMs : deniedMs));
      }
      if (!allowed) return false;
    }
    return true;
  }

  async #cached<T>(key: string, ask: () => Promise<T>, lifetimeMs: (value: T) => number): Promise<T> {
    const now = performance.now();
    const known = this.#cache.get(key);
    // The key determines the type of the value.
    if (known !== undefined && known.until > now) return known.value as Promise<T>;
    const value = ask();
    // Requests that arrive meanwhile share the answer.
    this.#remember(key, value, now + deniedMs);
    try {
      const answer = await value;
      this.#remember(key, value, now + lifetimeMs(answer));
      return answer;
    } catch (error) {
      this.#cache.delete(key);
      throw error;
    }
  }

  #remember(key: string, value: Promise<unknown>, until: number): void {
    this.#cache.delete(key);
    this.#cache.set(key, { value, until });
    const [oldest] = this.#cache.keys();
    if (this.#cache.size > maxCached && oldest !== undefined) this.#cache.delete(oldest);
  }
}

/** The user that a verified client certificate names. */
function callerOf(socket: TLSSocket): Caller | undefined {
  if (!socket.authorized) return undefined;
  const { subject } = socket.getPeerCertificate();
  const name = first(subject?.CN);
  if (name === undefined || name === '') return undefined;
  const organizations: string | readonly string[] | undefined = subject?.O;
  const groups = organizations === undefined ? [] : [organizations].flat();
  return { username: name, uid: '', groups: [...groups, 'system:authenticated'], extra: {} };
}

const first = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' || value === undefined ? value : value[0];
