import type { ChildProcess, StdioOptions } from 'node:child_process';
import { spawn } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { chown, mkdir, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { constants as os } from 'node:os';
import type { Writable } from 'node:stream';
import { messageOf } from '../../api/error-message.ts';
import type { Exit } from './ending.ts';
import { watchEnding } from './ending.ts';
import type { ProcessId } from './identity.ts';
import { identityOf } from './identity.ts';
import type { LogLimits } from './log-file.ts';
import type { ProcessCalls } from './native.ts';
import type { OutputListener } from './output.ts';
import { hasSetpriv, programProblem } from './program.ts';
import { openInput, openPipes, Output, pipePath } from './output.ts';
import { launched, StartError, startMessage } from './start-error.ts';
import type { Terminal } from './terminal.ts';
import { openTerminal, withTerminal } from './terminal.ts';

/** Processes of an instance carry its ID in this variable, by which the agent finds those that left the session. */
export const instanceVariable = 'FAIRLEAD_CONTAINER_ID';

export interface User {
  readonly uid: number;
  readonly gid: number;
  /** Supplementary groups. */
  readonly groups: readonly number[];
}

/** A command line that sets a process up and then executes its program: see `sandbox/launch.ts`. */
export interface Launcher {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
}

export interface ProcessSpec {
  /** The program with its arguments. No shell is involved. */
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** undefined: the user of the agent. */
  readonly user: User | undefined;
  /** Where the pipes are created. */
  readonly directory: string;
  readonly logPath: string;
  readonly logLimits?: LogLimits | undefined;
  /** `open`: it stays open; `once`: it ends when the first client closes it. */
  readonly stdin: 'none' | 'open' | 'once';
  readonly tty: boolean;
  /** Executes the program, in its environment and as its user; undefined: it is executed directly. */
  readonly launcher: Launcher | undefined;
  /** Whether the kernel kills it when the agent is killed, if the machine has `setpriv`. */
  readonly diesWithAgent: boolean;
}

/** The main process of a container: the leader of a session of its own, with its output. */
export interface MainProcess {
  readonly pid: number;
  readonly identity: string;
  /** Resolves when it has ended and its output is in the log. */
  readonly exited: Promise<Exit>;
  /** Sends a signal to the process alone. */
  signal(signal: NodeJS.Signals): void;
  /** Kills the whole session. */
  kill(): void;
  onOutput(listener: OutputListener): () => void;
  /** Its standard input for one client; undefined: it has none. */
  openInput(): Writable | undefined;
  /** Sets the size of its terminal, if it has one. */
  resize(columns: number, rows: number): void;
  /** Stops watching it. The process continues. */
  release(): Promise<void>;
  /** Lines that its log lost. */
  readonly lostWrites: number;
}

/** How long output of a process that has ended may be held by others. */
const drainMs = 500;
/** Starts a process. Rejects with a StartError if the program cannot be executed. */
export async function startProcess(calls: ProcessCalls, spec: ProcessSpec): Promise<MainProcess> {
  const { directory, user } = spec;
  const [program] = spec.argv;
  const { PATH = '' } = spec.env;
  const { argv: command, env } = spec.launcher ?? spec;
  const problem = spec.launcher === undefined ? await programProblem(program, PATH, spec.cwd) : undefined;
  if (problem !== undefined) throw new StartError(problem);
  const mortal = spec.diesWithAgent && (await hasSetpriv(PATH)) ? ['setpriv', '--pdeathsig', 'KILL', '--'] : [];
  const argv = [...mortal, ...(spec.tty ? withTerminal(command) : command)];
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true, mode: 0o711 });
  const names = spec.stdin === 'none' ? (['stdout', 'stderr'] as const) : (['stdout', 'stderr', 'stdin'] as const);
  for (const name of names) {
    await calls.mkfifo(pipePath(directory, name));
    // A program may open /dev/stdout again.
    if (user !== undefined) await chown(pipePath(directory, name), user.uid, user.gid);
  }
  const fds: number[] = [];
  const open = (name: (typeof names)[number], flags = constants.O_RDWR): number => {
    const fd = openSync(pipePath(directory, name), flags);
    fds.push(fd);
    return fd;
  };
  let output: Output | undefined;
  let terminal: Terminal | undefined;
  try {
    let stdio: Exclude<StdioOptions, string>;
    if (spec.tty) {
      terminal = openTerminal(calls);
      fds.push(terminal.slave);
      stdio = [terminal.slave, terminal.slave, terminal.slave];
      output = new Output([['stdout', terminal.output]], spec.logPath, spec.logLimits);
    } else {
      stdio = [openStdin(spec.stdin, open), open('stdout'), open('stderr')];
      output = new Output(openPipes(directory), spec.logPath, spec.logLimits);
    }
    // Of a pipe that closes with its first client, the agent holds the writing end until then.
    const held = spec.stdin === 'once' && !spec.tty ? openInput(directory) : undefined;
    const [file = '', ...words] = argv;
    const child = spawn(file, words, {
      detached: !spec.tty, // a session of its own, which setsid creates with its terminal
      cwd: spec.launcher === undefined ? spec.cwd : '/',
      env,
      stdio: spec.launcher === undefined ? stdio : [...stdio, 'pipe'],
      ...(user === undefined || spec.launcher !== undefined ? {} : { uid: user.uid, gid: user.gid }),
    });
    await spawned(child, program);
    if (spec.launcher !== undefined) await launched(child);
    return ownProcess(child, output, { directory, terminal, held, hasInput: spec.stdin !== 'none' });
  } catch (error) {
    await output?.close();
    terminal?.close();
    throw error instanceof StartError ? error : new StartError(messageOf(error), { cause: error });
  } finally {
    for (const fd of fds) closeSync(fd);
  }
}

/** The reading end; a process that also holds the writing end never reads end of file. */
function openStdin(stdin: ProcessSpec['stdin'], open: (name: 'stdin', flags?: number) => number): number | 'ignore' {
  if (stdin === 'none') return 'ignore';
  const both = open('stdin');
  return stdin === 'open' ? both : open('stdin', constants.O_RDONLY);
}

async function spawned(child: ChildProcess, program: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) => reject(new StartError(startMessage(error, program), { cause: error })));
  });
  child.on('error', () => undefined); // of later signals
}

interface Inputs {
  readonly directory: string;
  readonly terminal: Terminal | undefined;
  readonly held: Socket | undefined;
  readonly hasInput: boolean;
}

function ownProcess(child: ChildProcess, output: Output, { directory, terminal, held, hasInput }: Inputs): MainProcess {
  const { pid = 0 } = child;
  const identity = identityOf(pid) ?? '';
  let isEnded = false;
  let isReleased = false;
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      isEnded = true;
      killSession(pid); // what it started ends with it
      const number = signal === null ? undefined : os.signals[signal];
      const exit = number === undefined ? { exitCode: code ?? 0 } : { exitCode: 128 + number, signal: number };
      void (isReleased ? Promise.resolve() : output.finish(drainMs)).then(() => resolve(exit)); // it never rejects
    });
  });
  return {
    pid,
    identity,
    exited,
    // Node does not signal a child that it has reaped.
    signal: (signal) => void child.kill(signal),
    kill: () => (isEnded ? undefined : killSession(pid)),
    onOutput: (listener) => output.listen(listener),
    openInput() {
      if (!hasInput || isEnded) return undefined;
      if (terminal !== undefined) return terminal.input;
      const input = openInput(directory);
      input?.once('close', () => held?.destroy());
      return input;
    },
    resize: (columns, rows) => terminal?.resize(columns, rows),
    async release() {
      isReleased = true;
      child.unref();
      await output.close();
    },
    get lostWrites() {
      return output.lostWrites;
    },
  };
}

export interface Adoption extends ProcessId {
  readonly directory: string;
  readonly logPath: string;
  readonly logLimits?: LogLimits | undefined;
}

/** Continues with a process that another agent started; undefined: it has ended. */
export function adoptProcess(calls: ProcessCalls, adoption: Adoption): MainProcess | undefined {
  const { pid, identity } = adoption;
  const isAlive = (): boolean => identityOf(pid) === identity;
  if (!isAlive()) return undefined;
  const output = new Output(openPipes(adoption.directory), adoption.logPath, adoption.logLimits);
  const ending = watchEnding(calls, adoption);
  const exited = ending.ended.then(async (exit) => {
    await output.finish(drainMs);
    return exit;
  });
  const send = (target: number, signal: NodeJS.Signals): void => {
    if (isAlive()) sendSignal(target, signal);
  };
  return {
    pid,
    identity,
    exited,
    signal: (signal) => send(pid, signal),
    kill: () => send(-pid, 'SIGKILL'),
    onOutput: (listener) => output.listen(listener),
    openInput: () => openInput(adoption.directory),
    resize: () => undefined,
    async release() {
      ending.stop();
      await output.close();
    },
    get lostWrites() {
      return output.lostWrites;
    },
  };
}

/** Kills a session whose leader has this ID. */
const killSession = (pid: number): void => sendSignal(-pid, 'SIGKILL');

function sendSignal(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch {
    // It has ended, or became another user's.
  }
}
