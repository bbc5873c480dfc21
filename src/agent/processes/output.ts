import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { LogLimits, Stream } from './log-file.ts';
import { setTimeout } from '../../machine/timers.ts';
import { LogFile, logTime } from './log-file.ts';

/** The named pipe of a stream. Its process holds both ends, so that it survives the agent and never gets SIGPIPE. */
export const pipePath = (directory: string, stream: Stream | 'stdin'): string => join(directory, stream);

export type OutputListener = (stream: Stream, chunk: Buffer) => void;

/** Copies the output of a process from its pipes to its log, and to listeners. */
export class Output {
  readonly #log: LogFile;
  readonly #listeners = new Set<OutputListener>();
  readonly #sockets: readonly Socket[];
  readonly #ended: Promise<unknown>;

  constructor(sources: readonly (readonly [Stream, Socket])[], logPath: string, limits?: LogLimits) {
    this.#log = new LogFile(logPath, limits);
    this.#sockets = sources.map(([, socket]) => socket);
    for (const [stream, socket] of sources) {
      socket.on('data', (chunk: Buffer) => this.#receive(socket, stream, chunk));
      socket.on('error', () => socket.destroy());
    }
    this.#ended = Promise.all(this.#sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve))));
  }

  get lostWrites(): number {
    return this.#log.lostWrites;
  }

  /** Calls the listener with the output from now on, until the returned function is called. */
  listen(listener: OutputListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Reads what the pipes still hold after the process has ended, for a moment at most, and closes the log. */
  async finish(waitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise((resolve) => {
      timer = setTimeout(() => resolve(undefined), waitMs);
    });
    await Promise.race([this.#ended, timeout]);
    clearTimeout(timer);
    await this.close();
  }

  /** Stops reading; the process waits when its pipe is full, until another agent reads it. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await this.#log.close(logTime());
  }

  #receive(socket: Socket, stream: Stream, chunk: Buffer): void {
    for (const listener of this.#listeners) listener(stream, chunk);
    const full = this.#log.write(stream, chunk, logTime());
    if (full === undefined) return;
    socket.pause();
    void full.then(() => socket.resume()); // it never rejects
  }
}

/** Opens the pipes of a process, which exist. */
export const openPipes = (directory: string): readonly (readonly [Stream, Socket])[] =>
  (['stdout', 'stderr'] as const).map((stream) => {
    const fd = openSync(pipePath(directory, stream), constants.O_RDONLY | constants.O_NONBLOCK);
    return [stream, new Socket({ fd, readable: true, writable: false })];
  });

/** Opens the standard input of a process for a client; undefined: it has none. */
export function openInput(directory: string): Socket | undefined {
  try {
    const fd = openSync(pipePath(directory, 'stdin'), constants.O_WRONLY | constants.O_NONBLOCK);
    const socket = new Socket({ fd, readable: false, writable: true });
    return socket.on('error', () => socket.destroy());
  } catch {
    return undefined; // no pipe, or its process has closed it
  }
}
