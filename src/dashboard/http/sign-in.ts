// Signing in: with the secret of this start on a loopback address, and with a bearer token for each cluster elsewhere.
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { connectionReason } from '../../client/connection-error.ts';
import { systemClock } from '../../client/clock.ts';
import { Semaphore } from '../../machine/semaphore.ts';
import { AnswerError } from '../answers/errors.ts';
import type { ClusterSource } from '../options.ts';
import type { Board } from '../server/board.ts';
import { TokenViewer } from '../server/token-viewer.ts';
import type { Viewer } from '../server/viewer.ts';
import { owner } from '../server/viewer.ts';

/** The secret in the address that is printed at the start. */
export class StartSecret {
  readonly text: string = randomBytes(24).toString('base64url');

  /** Throws an AnswerError unless it is this one. */
  check(given: string): Viewer {
    const [left, right] = [Buffer.from(given), Buffer.from(this.text)];
    if (left.length !== right.length || !timingSafeEqual(left, right))
      throw new AnswerError(403, 'this address is of an earlier start: open the one that was printed last');
    return owner;
  }
}

/** Limits of tokens that are checked at once and that wait, since anyone may send tokens. */
const [atOnce, waiting] = [4, 32];
/** Tokens of providers have a few kilobytes. */
const maxTokenLength = 16_384;

/** Checks bearer tokens. */
export class TokenSignIn {
  readonly #semaphore = new Semaphore(atOnce);
  readonly #reviewMs: number;
  #pending = 0;

  constructor(reviewMs: number) {
    this.#reviewMs = reviewMs;
  }

  /** The person with the tokens of a request, by cluster. Rejects with an AnswerError unless each cluster accepts its token. */
  async check(body: Readonly<Record<string, unknown>>, clusters: SignInClusters): Promise<Viewer> {
    if (this.#pending >= atOnce + waiting) throw new AnswerError(503, 'too many people sign in at once: try again');
    this.#pending++;
    try {
      return await this.#semaphore.run(() => viewerOf(tokensIn(body), clusters, this.#reviewMs));
    } finally {
      this.#pending--;
    }
  }
}

/** The clusters that tokens can be for. */
export interface SignInClusters {
  readonly sources: ReadonlyMap<string, ClusterSource>;
  readonly board: Board;
}

/** Cluster → token, of those that are given. */
function tokensIn(body: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  const given = Object.entries(body).flatMap(([cluster, token]) => {
    const text = typeof token === 'string' ? token.trim() : '';
    return text === '' ? [] : [[cluster, text] as const];
  });
  // The characters of RFC 6750: others would make a different header.
  const wrong = given.find(([, token]) => token.length > maxTokenLength || !/^[\w~+/.=-]+$/.test(token));
  if (wrong !== undefined) throw new AnswerError(400, `the token for cluster ${wrong[0]} is not a bearer token`);
  if (given.length === 0) throw new AnswerError(400, 'enter a token for at least one cluster');
  return new Map(given);
}

async function viewerOf(
  tokens: ReadonlyMap<string, string>,
  { sources, board }: SignInClusters,
  freshMs: number,
): Promise<Viewer> {
  const clusters = Array.from(tokens, ([name, token]) => {
    const [source, feed] = [sources.get(name), board.feed(name)];
    if (source === undefined || feed === undefined) throw new AnswerError(400, `there is no cluster "${name}"`);
    return { name, client: source.connectAs(token), kindsOf: feed.kindsOf.bind(feed) };
  });
  const viewer = new TokenViewer(clusters, { clock: systemClock, freshMs });
  await viewer.review();
  const failures = clusters.flatMap(({ name }) => {
    const error = viewer.errorOf(name);
    return error === undefined ? [] : [`cluster ${name}: ${connectionReason(error)}`];
  });
  if (failures.length === 0) return viewer;
  viewer[Symbol.dispose]();
  throw new AnswerError(403, failures.join('; '));
}
