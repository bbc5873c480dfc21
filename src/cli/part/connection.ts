import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { Counter, Histogram } from 'prom-client';
import { isStatusError } from '../../api/errors.ts';
import { connectionReason, credentialsRejected } from '../../client/connection-error.ts';
import type { ApiRequest, Transport } from '../../client/transport.ts';

export interface ConnectionOptions {
  /** The URL of the server, for metrics and messages. */
  readonly server: string;
  readonly log: Logger;
  readonly metrics: Registry;
}

/** A transport that records whether the server answers. */
export interface Connection {
  readonly transport: Transport;
  /** Why the server cannot be used; empty after a request was answered. */
  problems(): readonly string[];
}

/** Wraps a transport: counts requests under client-go's names, and logs once when the server stops or resumes answering. */
export function watchedConnection(transport: Transport, { server, log, metrics }: ConnectionOptions): Connection {
  const measure = restMetrics(metrics, hostOf(server));
  let problem: string | undefined;
  let isClosed = false;
  const report = (next: string | undefined): void => {
    if (next === problem || isClosed) return;
    if (next === undefined) log.warn({ server }, 'requests to the API server succeed again');
    else if (problem === undefined) log.warn({ server, reason: next }, 'requests to the API server fail, retrying');
    problem = next;
  };
  const answered = (status: number): void => report(status === 401 ? credentialsRejected : undefined);
  const failed = (error: unknown, call: ApiRequest): void => {
    if (isClosed || call.signal?.aborted === true) return; // ended here, not by the server
    if (isStatusError(error)) answered(error.status.code ?? 0);
    else report(connectionReason(error));
  };
  return {
    problems: () => (problem === undefined ? [] : [`requests to the API server ${server} fail: ${problem}`]),
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
        let isOpen = false;
        try {
          for await (const line of transport.stream(call)) {
            if (!isOpen) {
              isOpen = true;
              done(200);
              answered(200);
            }
            yield line;
          }
        } catch (error) {
          // A stream also ends when the server closes it; the next request shows whether the server answers.
          if (!isOpen) {
            done(isStatusError(error) ? error.status.code : undefined);
            failed(error, call);
          }
          throw error;
        }
      },
      [Symbol.dispose]() {
        isClosed = true;
        transport[Symbol.dispose]();
      },
    },
  };
}

/** The metrics of client-go. The function it returns is called with the status of the answer, or undefined without one. */
function restMetrics(registry: Registry, host: string): (call: ApiRequest) => (status: number | undefined) => void {
  const registers = [registry];
  const requests = new Counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the API server, by method and status code.',
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
