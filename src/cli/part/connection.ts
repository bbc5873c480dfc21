import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { Counter, Histogram } from 'prom-client';
import { messageOf } from '../../api/error-message.ts';
import { isStatusError } from '../../api/errors.ts';
import type { ApiRequest, Transport } from '../../client/transport.ts';
import { codesOf } from '../errors.ts';

export interface ConnectionOptions {
  /** Where the server is, for metrics and messages. */
  readonly server: string;
  readonly log: Logger;
  readonly metrics: Registry;
}

/** A way to a server that knows whether the server answers. */
export interface Connection {
  readonly transport: Transport;
  /** What is wrong with the way there; none when the last request was answered. */
  problems(): readonly string[];
}

/** Watches over a transport: counts requests under client-go's names, and tells once when the server goes or comes. */
export function watchedConnection(transport: Transport, { server, log, metrics }: ConnectionOptions): Connection {
  const measure = restMetrics(metrics, hostOf(server));
  let problem: string | undefined;
  const tell = (next: string | undefined): void => {
    if (next === problem) return;
    // Told once: a server that is away for an hour is asked hundreds of times.
    if (next === undefined) log.warn({ server }, 'the API server answers again');
    else if (problem === undefined) log.warn({ server, why: next }, 'the API server is out of reach: trying on');
    problem = next;
  };
  const answered = (status: number): void =>
    tell(status === 401 ? `the API server ${server} refuses our credentials (401)` : undefined);
  const failed = (error: unknown, call: ApiRequest): void => {
    if (call.signal?.aborted === true) return; // given up by us
    if (isStatusError(error)) answered(error.status.code ?? 0);
    else tell(`the API server ${server} cannot be reached: ${reasonOf(error)}`);
  };
  return {
    problems: () => (problem === undefined ? [] : [problem]),
    transport: {
      async request(call) {
        const done = measure(call);
        try {
          const answer = await transport.request(call);
          done(answer.status);
          answered(answer.status);
          return answer;
        } catch (error) {
          done(undefined);
          failed(error, call);
          throw error;
        }
      },
      async *stream(call) {
        const done = measure(call);
        let hasBegun = false;
        try {
          for await (const line of transport.stream(call)) {
            if (!hasBegun) {
              hasBegun = true;
              done(200);
              answered(200);
            }
            yield line;
          }
        } catch (error) {
          // A stream that breaks says little: the next attempt tells whether the server is there.
          if (!hasBegun) {
            done(isStatusError(error) ? error.status.code : undefined);
            failed(error, call);
          }
          throw error;
        }
      },
      [Symbol.dispose]: () => transport[Symbol.dispose](),
    },
  };
}

/** The metrics of client-go. What is returned is called when a request is answered, or with undefined when it is not. */
function restMetrics(registry: Registry, host: string): (call: ApiRequest) => (status: number | undefined) => void {
  const registers = [registry];
  const requests = new Counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the API server, by method and how they were answered.',
    labelNames: ['code', 'method', 'host'],
    registers,
  });
  const durations = new Histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'Time from a request to its answer, or to the first event of a watch.',
    labelNames: ['verb', 'host'],
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
    registers,
  });
  return ({ method }) => {
    const started = performance.now();
    return (status) => {
      requests.inc({ code: status === undefined ? '<error>' : String(status), method, host });
      durations.observe({ verb: method, host }, (performance.now() - started) / 1000);
    };
  };
}

const hostOf = (server: string): string => URL.parse(server)?.host ?? server;

/** Some errors of Node have a code and no message. */
const reasonOf = (error: unknown): string => messageOf(error) || (codesOf(error)[0] ?? 'no answer');
