// The second client, in its own thread: it reads a ConfigMap, writes it and renews a Lease, one small request after
// the other, and records their durations. Computations of the attacker do not delay it.

import { once } from 'node:events';
import { parentPort, Worker, workerData } from 'node:worker_threads';

import type { ServerTarget } from './client.ts';
import { HostileServer } from './client.ts';

/** The durations of the requests of a period in milliseconds, and the number of failures. */
export interface Waits {
  readonly longest: number;
  readonly p99: number;
  readonly requests: number;
  /** Requests without a response, or rejected with an error other than 429. */
  readonly failed: number;
  /** The first of these errors, for the report. */
  readonly problem: string;
}

/** The data that the thread starts with. */
interface Start {
  readonly target: ServerTarget;
  readonly namespace: string;
}

const pauseMs = 5;
/** The limit of a measured duration: beyond it the server counts as not answering. */
const deadlineMs = 60_000;

/** A client that measures its own requests continuously; `period` returns those since the last call. */
export class Bystander implements AsyncDisposable {
  readonly #worker: Worker;

  constructor(start: Start) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: start });
  }

  async period(): Promise<Waits> {
    const answer = once(this.#worker, 'message'); // rejects when the thread fails
    this.#worker.postMessage('period');
    const [waits] = (await answer) as [Waits];
    return waits;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}

async function measure({ target, namespace }: Start, record: (ms: number, problem: string) => void): Promise<void> {
  const server = new HostileServer(target);
  const merge = 'application/merge-patch+json';
  const map = `/api/v1/namespaces/${namespace}/configmaps/bystander`;
  const lease = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/bystander`;
  const requests = [
    () => ({ method: 'GET', path: map }),
    (turn: number) => ({ method: 'PATCH', path: map, type: merge, body: `{"data":{"turn":"${turn}"}}` }),
    (turn: number) => ({ method: 'PATCH', path: lease, type: merge, body: `{"spec":{"leaseTransitions":${turn}}}` }),
  ];
  for (let turn = 0; ; turn++) {
    const next = requests[turn % requests.length];
    if (next === undefined) continue;
    const started = performance.now();
    const { status, text } = await server.send(next(turn), AbortSignal.timeout(deadlineMs));
    const isAnswered = status === 200 || status === 429;
    record(performance.now() - started, isAnswered ? '' : `${status} ${text.slice(0, 200)}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

if (parentPort !== null) {
  const port = parentPort;
  let taken: number[] = [];
  let problems: string[] = [];
  port.on('message', () => {
    const sorted = taken.toSorted((left, right) => left - right);
    const waits: Waits = {
      longest: sorted.at(-1) ?? 0,
      p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
      requests: sorted.length,
      failed: problems.length,
      problem: problems[0] ?? '',
    };
    [taken, problems] = [[], []];
    port.postMessage(waits);
  });
  await measure(workerData as Start, (ms, problem) => {
    taken.push(ms);
    if (problem !== '') problems.push(problem);
  });
}
