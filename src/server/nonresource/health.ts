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

const endpoints: readonly string[] = ['healthz', 'livez', 'readyz'];

const checksOf = (endpoint: string, checks: readonly HealthCheck[]): readonly HealthCheck[] =>
  checks.filter(({ readyOnly }) => endpoint === 'readyz' || !readyOnly);

/** `/metrics/slis`, `/healthz`, `/livez` and `/readyz`, the last three with `?verbose`, `?exclude=` and a path for each check. */
export function health(path: string, query: URLSearchParams, checks: readonly HealthCheck[]): Reply | undefined {
  if (path === '/metrics/slis') return textReply(200, healthMetrics(checks));
  const [, endpoint = '', ...rest] = path.split('/');
  if (!endpoints.includes(endpoint)) return undefined;
  const one = rest.join('/'); // names of post-start hooks contain slashes
  const relevant = checksOf(endpoint, checks);
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

/** The results of all checks as metrics, as components of Kubernetes have them (KEP-3466). */
function healthMetrics(checks: readonly HealthCheck[]): string {
  const lines = endpoints.flatMap((type) =>
    checksOf(type, checks).map(
      ({ name, problem }) => `kubernetes_healthcheck{name="${name}",type="${type}"} ${problem() === undefined ? 1 : 0}`,
    ),
  );
  return [
    '# HELP kubernetes_healthcheck This metric records the result of a single healthcheck.',
    '# TYPE kubernetes_healthcheck gauge',
    ...lines,
    '',
  ].join('\n');
}
