import type { Readable, Writable } from 'node:stream';

import { messageOf } from '../../api/error-message.ts';
import { setInterval } from '../../machine/timers.ts';
import type { CommandStatus } from '../../streams/command-status.ts';
import { commandSuccess, internalStatus, statusOf } from '../../streams/command-status.ts';
import type { Attachment, LocalContainer, StartedProcess } from '../pods/runtime.ts';
import type { CommandSession, WantedStreams } from './command-session.ts';
import { SizeReader } from './terminal-size.ts';

/** Output that a process left to a child which still has it open is waited for only this long without a byte. */
const quietMs = 500;
/** Output of an attached process that a slow caller has not read; more is lost. */
const maxUnreadBytes = 1 << 20;

/** Runs a command in a container for a connected caller, until it ends or the caller disconnects. */
export async function runCommand(
  container: LocalContainer,
  argv: readonly string[],
  { session, wanted }: { readonly session: CommandSession; readonly wanted: WantedStreams },
): Promise<void> {
  const { stdin, tty } = wanted;
  const status = await container.start(argv, { stdin, tty }).then(
    (process) => runProcess(process, session),
    (error: unknown) => internalStatus(`error executing command in container: ${messageOf(error)}`),
  );
  await session.end(status);
}

async function runProcess(process: StartedProcess, session: CommandSession): Promise<CommandStatus> {
  // Nobody sees what it does any more, as when a terminal is closed.
  void session.closed.then(() => process.kill());
  connectInput(session.stdin, process.stdin);
  readSizes(session, process);
  const outputs = [new Copy(process.stdout, session.stdout), new Copy(process.stderr, session.stderr)];
  const exitCode = await process.exited;
  await Promise.race([Promise.all(outputs.map((output) => output.finish(quietMs))), session.closed]);
  return statusOf({ exitCode });
}

/** Connects a caller with the main process of a container. */
export async function runAttach(
  container: LocalContainer,
  { session }: { readonly session: CommandSession },
): Promise<void> {
  using attachment = container.attach();
  if (attachment === undefined) {
    await session.end(internalStatus(`error attaching to container: container ${container.name} is not running`));
    return;
  }
  connectInput(session.stdin, attachment.stdin);
  readSizes(session, attachment);
  const sinks = { stdout: session.stdout, stderr: session.stderr };
  attachment.onOutput((stream, chunk) => {
    const sink = sinks[stream];
    if (sink !== undefined && !sink.destroyed && sink.writableLength < maxUnreadBytes) sink.write(chunk);
  });
  await Promise.race([attachment.exited, session.closed]);
  await session.end(commandSuccess);
}

/** Copies input until the process has closed it; what follows is discarded, so that the caller is not blocked. */
function connectInput(from: Readable | undefined, to: Writable | undefined): void {
  if (from === undefined) return;
  if (to === undefined) {
    from.resume();
    return;
  }
  for (const event of ['error', 'close']) {
    to.on(event, () => {
      from.unpipe(to);
      from.resume();
    });
  }
  from.on('error', () => to.end());
  from.pipe(to);
}

function readSizes({ resize }: CommandSession, terminal: Pick<StartedProcess, 'resize'> | Attachment): void {
  const sizes = new SizeReader();
  resize?.on('data', (chunk: Buffer) => {
    for (const { columns, rows } of sizes.push(chunk)) terminal.resize(columns, rows);
  });
}

/** Copies output at the pace of its reader. */
class Copy {
  readonly #from: Readable | undefined;
  readonly #done = Promise.withResolvers<void>();
  #lastChunk = performance.now();
  #isBlocked = false;

  constructor(from: Readable | undefined, to: Writable | undefined) {
    this.#from = from;
    if (from === undefined) {
      this.#done.resolve();
      return;
    }
    from.on('data', (chunk: Buffer) => {
      this.#lastChunk = performance.now();
      // Nobody reads this stream, but the process must be able to write it.
      if (to === undefined || to.destroyed || to.write(chunk)) return;
      this.#isBlocked = true;
      from.pause();
    });
    const resume = (): void => {
      this.#isBlocked = false;
      this.#lastChunk = performance.now();
      from.resume();
    };
    to?.on('drain', resume).on('close', resume);
    for (const event of ['end', 'error', 'close']) from.on(event, () => this.#done.resolve());
  }

  /** Resolves when everything is copied; after the process has ended, others may hold its output open for ever. */
  async finish(waitMs: number): Promise<void> {
    const exitedAt = performance.now();
    const timer = setInterval(() => {
      const since = performance.now() - Math.max(this.#lastChunk, exitedAt);
      if (!this.#isBlocked && since >= waitMs) this.#done.resolve();
    }, waitMs / 4);
    try {
      await this.#done.promise;
    } finally {
      clearInterval(timer);
      this.#from?.destroy();
    }
  }
}
