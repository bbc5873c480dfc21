// The thread that owns the file. It runs one thing at a time; a sweep gives way to commits between its steps.

import { parentPort, workerData } from 'node:worker_threads';

import { setImmediate } from '../../machine/timers.ts';
import { failureOf, sqliteResult } from './failures.ts';
import type { Failure, Reply, Request, Rows, WorkerOptions } from './protocol.ts';
import { RevisionLog } from './revision-log.ts';

const rowsPerPart = 1000;

/** Serves the log to the other thread until it is told to close. */
class LogServer {
  readonly #log: RevisionLog;
  readonly #reply: (reply: Reply) => void;
  /** After an error other than a full disk nobody knows what the file holds: it takes no more writes. */
  #broken: Failure | undefined;
  #sweeping = false;

  constructor(log: RevisionLog, reply: (reply: Reply) => void) {
    this.#log = log;
    this.#reply = reply;
    for (const rows of log.load(rowsPerPart)) reply({ type: 'loaded', rows });
    reply({ type: 'opened', compacted: log.compacted });
    this.#sweepSoon();
  }

  append(rows: Rows): void {
    const failure = this.#attempt(() => this.#log.append(rows));
    this.#reply(failure === undefined ? { type: 'appended' } : { type: 'failed-to-append', failure });
  }

  compact(revision: number): void {
    const failure = this.#attempt(() => this.#log.compact(revision));
    if (failure !== undefined) this.#reply({ type: 'failed-to-compact', failure });
    else if (this.#log.needsSweep) this.#sweepSoon();
    else this.#reply({ type: 'compacted', revision: this.#log.compacted });
  }

  close(): void {
    this.#broken = { result: undefined, message: 'closed' };
    this.#log.close();
  }

  #sweepSoon(): void {
    if (this.#sweeping) return;
    this.#sweeping = true;
    setImmediate(() => this.#sweep());
  }

  #sweep(): void {
    this.#sweeping = false;
    if (this.#broken !== undefined) return;
    let more = true;
    const failure = this.#attempt(() => {
      if (this.#log.needsSweep) this.#log.sweep();
      else more = this.#log.shrink();
    });
    if (failure !== undefined) this.#reply({ type: 'failed-to-compact', failure });
    else if (more) this.#sweepSoon();
    else this.#reply({ type: 'compacted', revision: this.#log.compacted });
  }

  #attempt(work: () => void): Failure | undefined {
    if (this.#broken !== undefined) return this.#broken;
    try {
      work();
      return undefined;
    } catch (error) {
      const failure = failureOf(error);
      if (failure.result !== sqliteResult.full) this.#broken = failure;
      return failure;
    }
  }
}

function serve(): void {
  const port = parentPort;
  if (port === null) throw new Error('bug: the worker was not started as one');
  const reply = (message: Reply): void => port.postMessage(message);
  // Both sides of the protocol are ours; see protocol.ts.
  const { file, maxBytes } = workerData as WorkerOptions;
  let server: LogServer;
  try {
    server = new LogServer(new RevisionLog(file, maxBytes), reply);
  } catch (error) {
    reply({ type: 'failed-to-open', failure: failureOf(error) });
    return;
  }
  port.on('message', (request: Request) => {
    switch (request.type) {
      case 'append':
        return server.append(request.rows);
      case 'compact':
        return server.compact(request.revision);
      case 'close':
        server.close();
        return port.close();
    }
  });
}

serve();
