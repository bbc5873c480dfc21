// The thread that owns the file. It runs one operation at a time; a sweep yields to commits between its steps.

import type { MessagePort } from 'node:worker_threads';
import { parentPort, workerData } from 'node:worker_threads';

import { setImmediate, setTimeout } from '../../machine/timers.ts';
import { toFailure, isFatal } from './failures.ts';
import { writeHighestRevision } from './highest-revision.ts';
import type { Failure, Reply, Request, Rows, WorkerOptions } from './protocol.ts';
import { revisionOf, rowWidth } from './protocol.ts';
import { RevisionLog } from './revision-log.ts';

const rowsPerPart = 1000;

/** The interval of updates of the highest-revision file during writes. */
const highestRevisionMs = 1000;

/** Serves the log to the main thread until it is closed, or an error other than a full disk ends it. */
class LogServer {
  readonly #log: RevisionLog;
  readonly #file: string;
  readonly #port: MessagePort;
  /** After an error other than a full disk, the content of the file is unknown: another worker reopens it. */
  #broken: Failure | undefined;
  #isClosed = false;
  #sweeping = false;
  #revision: number;
  #revisionTimer: NodeJS.Timeout | undefined;

  constructor(log: RevisionLog, options: WorkerOptions, port: MessagePort) {
    this.#log = log;
    this.#file = options.file;
    this.#port = port;
    if (options.resume === undefined) for (const rows of log.load(rowsPerPart)) this.#reply({ type: 'loaded', rows });
    // History must not include an unreadable change.
    log.compact(log.damaged.reduce((last, { id }) => Math.max(last, revisionOf(id)), 0));
    const { revision, compacted, swept, damaged, notices } = log;
    this.#reply({ type: 'opened', revision, compacted, swept, damaged, notices });
    this.#revision = revision;
    this.#writeRevision();
    this.#sweepSoon();
  }

  append(rows: Rows): void {
    const failure = this.#attempt(() => this.#log.append(rows));
    this.#reply(failure === undefined ? { type: 'appended' } : { type: 'failed-to-append', failure });
    if (failure !== undefined) return;
    this.#revision = revisionOf(Number(rows.at(-rowWidth)));
    this.#revisionTimer ??= setTimeout(() => this.#writeRevision(), highestRevisionMs);
  }

  probe(): void {
    const failure = this.#attempt(() => this.#log.probe());
    this.#reply(failure === undefined ? { type: 'probed' } : { type: 'failed-to-append', failure });
  }

  compact(revision: number): void {
    const failure = this.#attempt(() => this.#log.compact(revision));
    if (failure !== undefined) this.#reply({ type: 'failed-to-compact', failure });
    else if (this.#log.needsSweep) this.#sweepSoon();
    else this.#reply({ type: 'compacted', revision: this.#log.compacted });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#writeRevision();
    this.#port.close();
    this.#log.close();
  }

  /** Ignores errors: the file is optional at the next start, and the next commit reports them too. */
  #writeRevision(): void {
    clearTimeout(this.#revisionTimer);
    this.#revisionTimer = undefined;
    try {
      writeHighestRevision(this.#file, this.#revision);
    } catch {
      // reported by the next commit
    }
  }

  #reply(message: Reply): void {
    this.#port.postMessage(message);
  }

  #sweepSoon(): void {
    if (this.#sweeping) return;
    this.#sweeping = true;
    setImmediate(() => this.#sweep());
  }

  #sweep(): void {
    this.#sweeping = false;
    if (this.#isClosed) return;
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
      const failure = toFailure(error);
      if (isFatal(failure)) {
        this.#broken = failure;
        setImmediate(() => this.close());
      }
      return failure;
    }
  }
}

function serve(): void {
  const port = parentPort;
  if (port === null) throw new Error('bug: the worker was not started as one');
  // Both sides of the protocol are ours; see protocol.ts.
  const options = workerData as WorkerOptions;
  let server: LogServer;
  try {
    server = new LogServer(new RevisionLog(options), options, port);
  } catch (error) {
    port.postMessage({ type: 'failed-to-open', failure: toFailure(error) } satisfies Reply);
    return;
  }
  port.on('message', (request: Request) => {
    switch (request.type) {
      case 'append':
        return server.append(request.rows);
      case 'probe':
        return server.probe();
      case 'compact':
        return server.compact(request.revision);
      case 'close':
        return server.close();
    }
  });
}

serve();
