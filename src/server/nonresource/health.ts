import type { Reply } from '../reply.ts';
import { pathNotFound, textReply } from '../reply.ts';

/** A health check. */
export interface HealthCheck {
  readonly name: string;
  /** Part of `/readyz` only, since a live server may be starting or stopping. */
  readonly readyOnly: boolean;
  /** Reported without making the server unready, because reads and deletions still work. */
  readonly isInformational?: boolean;
  /** Returns what is wrong, or undefined. */
  readonly problem: () => string | undefined;
}

/** `/healthz`, `/livez` and `/readyz`, with `?verbose`, `?exclude=` and a path for each check. */
export function health(path: string, query: URLSearchParams, checks: readonly HealthCheck[]): Reply | undefined {
  const [, endpoint = '', ...rest] = path.split('/');
  if (!['healthz', 'livez', 'readyz'].includes(endpoint)) return undefined;
  const one = rest.join('/'); // names of post-start hooks contain slashes
  const relevant = checks.filter(({ readyOnly }) => endpoint === 'readyz' || !readyOnly);
  if (one !== '') {
    const check = relevant.find(({ name }) => name === one);
    if (check === undefined) return pathNotFound();
    return check.problem() === undefined ? textReply(200, 'ok') : textReply(500, `internal server error: ${one}\n`);
  }
  const excluded = new Set(query.getAll('exclude'));
  const results = relevant.map(({ name, isInformational = false, problem }) => ({
    name,
    isInformational,
    failed: !excluded.has(name) && problem() !== undefined,
  }));
  const failed = results.some((result) => result.failed && !result.isInformational);
  if (!failed && !query.has('verbose')) return textReply(200, 'ok');
  const lines = results.map((result) => {
    if (excluded.has(result.name)) return `[+]${result.name} excluded: ok`;
    return result.failed ? `[-]${result.name} failed: reason withheld` : `[+]${result.name} ok`;
  });
  return textReply(failed ? 500 : 200, `${lines.join('\n')}\n${endpoint} check ${failed ? 'failed' : 'passed'}\n`);
}
