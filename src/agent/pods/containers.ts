// Starts and stops the processes of one Pod, and keeps its record up to date.
import { randomBytes } from 'node:crypto';
import { chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../api/error-message.ts';
import type { Container, Pod } from '../../api/kinds/core/pod/schema.ts';
import { getOrCompute } from '../../api/maps.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import type { Environment } from '../environment/variables.ts';
import { ConfigError } from '../environment/variables.ts';
import type { LogLimits } from '../processes/log-file.ts';
import { logFiles } from '../processes/log-file.ts';
import type { Exit } from '../processes/ending.ts';
import type { Launcher, MainProcess, User } from '../processes/main-process.ts';
import { adoptProcess, instanceVariable, startProcess } from '../processes/main-process.ts';
import { StartError } from '../processes/start-error.ts';
import type { ProcessCalls } from '../processes/native.ts';
import { nextBackoff } from './backoff.ts';
import type { ImageMap } from './images.ts';
import { argvOf, imageOf, isImageName, notMapped, programOf, searchPath } from './images.ts';
import type { ContainerRecord, Ending, Instance, PodRecord } from './record.ts';
import { processUser } from './process-user.ts';
import { isRunning, lostMessage, recordOf } from './record.ts';
import { messagePath } from '../sandbox/mounts.ts';
import type { ContainerStart } from '../sandbox/sandboxes.ts';
import type { Program } from '../processes/launch.ts';
import { asUserArgv, launcherEnvironment } from '../processes/launch.ts';
import { terminationMessage } from './termination-message.ts';

/** An Event about a container. */
export interface ContainerEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly container: string;
}

export interface ContainersOptions {
  readonly calls: ProcessCalls;
  readonly clock: Clock;
  readonly images: ImageMap;
  /** The directory of the Pod. */
  readonly directory: string;
  readonly logLimits: LogLimits | undefined;
  /** Whether processes end when the agent is killed. */
  readonly diesWithAgent: boolean;
  /** What processes inherit. */
  readonly inherited: Readonly<Record<string, string>>;
  /** What starts a container apart from the machine; undefined: its processes see the machine as the agent does. */
  readonly launcher:
    | ((pod: Pod, container: Container, start: Omit<ContainerStart, 'volumes'>) => Promise<Launcher>)
    | undefined;
  readonly save: (record: PodRecord) => Promise<void>;
  /** Called when a record could not be saved. Running containers continue; another agent would not know what changed. */
  readonly unsaved: (error: unknown) => void;
  readonly record: (event: ContainerEvent) => void;
  /** Called when something changed by itself. */
  readonly changed: () => void;
  /** Notes an instance whose processes may have left its session. */
  readonly ended: (instance: string) => void;
}

/** A start that failed is tried again after this time, doubling to the maximum. */
const retryMs = 10_000;
const maxRetryMs = 300_000;

export class Containers {
  readonly #options: ContainersOptions;
  #record: PodRecord;
  /** Container → its process. */
  readonly #processes = new Map<string, MainProcess>();
  /** Container → processes beside its main process. */
  readonly #beside = new Map<string, Set<number>>();
  /** Container → when it is killed. */
  readonly #stopping = new Map<string, { killAt: number; wake: () => void }>();

  constructor(options: ContainersOptions, record: PodRecord) {
    this.#options = options;
    this.#record = record;
  }

  get record(): PodRecord {
    return this.#record;
  }

  get stopping(): ReadonlyMap<string, number> {
    return new Map(Array.from(this.#stopping, ([name, { killAt }]) => [name, killAt]));
  }

  process(container: string): MainProcess | undefined {
    return this.#processes.get(container);
  }

  /** Notes a process that was started beside a container, until it ends. */
  track(container: string, { pid, exited }: { readonly pid: number; readonly exited: Promise<unknown> }): void {
    const pids = getOrCompute(this.#beside, container, () => new Set());
    pids.add(pid);
    void exited.then(() => pids.delete(pid)); // it never rejects
  }

  /** The sessions of a container: of its main process, and of those beside it. */
  sessions(container: string): readonly number[] {
    const main = this.#processes.get(container)?.pid;
    return [...(main === undefined ? [] : [main]), ...(this.#beside.get(container) ?? [])];
  }

  /** Changes fields of the record of the Pod. */
  async update(change: Partial<PodRecord>): Promise<void> {
    this.#record = { ...this.#record, ...change };
    await this.#options.save(this.#record).catch((error: unknown) => this.#options.unsaved(error));
  }

  /** Continues with the processes that run; the others have ended while no agent saw it. */
  async adopt(): Promise<void> {
    for (const [name, { current }] of Object.entries(this.#record.containers)) {
      if (current === undefined || current.ended !== undefined) continue;
      const { pid, identity } = current;
      const paths = { directory: this.#pipes(name), logPath: this.#log(name, current.attempt) };
      const adopted =
        pid === 0
          ? undefined
          : adoptProcess(this.#options.calls, { pid, identity, ...paths, logLimits: this.#options.logLimits });
      if (adopted === undefined) await this.#end(name, current, undefined);
      else this.#watch(name, current, adopted);
    }
  }

  /** Starts a container. A failure becomes its state. */
  async start(pod: Pod, container: Container, environment: () => Promise<Environment>): Promise<void> {
    const { name } = container;
    const { images, clock } = this.#options;
    const image = imageOf(container, images);
    if (image === undefined) return this.#fail(name, imageProblem(container));
    let found: Environment;
    let user: User | undefined;
    try {
      user = processUser(pod, container, { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 });
      found = await environment();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return this.#fail(name, {
        reason: 'CreateContainerConfigError',
        event: 'Failed',
        message: `Error: ${error.message}`,
      });
    }
    const [program, ...args] = argvOf(image, found);
    if (program === undefined) {
      const message = `Error: the image "${container.image ?? ''}" has no command: set command or args`;
      return this.#fail(name, { reason: 'CreateContainerError', event: 'Failed', message });
    }
    const before = recordOf(this.#record, name);
    const attempt = before.current === undefined ? 0 : before.restartCount + 1;
    const id = randomBytes(16).toString('hex');
    const instance: Instance = {
      id,
      pid: 0,
      identity: '',
      startedAt: clock.now(),
      attempt,
      imageId: '',
      isStarted: container.startupProbe === undefined,
      isReady: container.readinessProbe === undefined,
      ...(container.lifecycle?.postStart === undefined ? {} : { isStarting: true }),
      ...(container.terminationMessagePolicy === 'FallbackToLogsOnError' ? { usesLogMessage: true } : {}),
    };
    const next: ContainerRecord = {
      restartCount: attempt,
      current: instance,
      ...(before.current === undefined ? {} : { previous: before.current, backoff: nextBackoff(before, clock.now()) }),
    };
    // Before the process exists, so that an agent that is killed in between finds it by its ID.
    const withNext = { ...this.#record, containers: { ...this.#record.containers, [name]: next } };
    try {
      await this.#options.save(withNext);
    } catch (error) {
      const message = `Error: cannot record the container: ${messageOf(error)}`;
      return this.#fail(name, { reason: 'CreateContainerError', event: 'Failed', message });
    }
    this.#record = withNext;
    void this.#removeLogs(name, attempt - 2);
    this.#report(name, 'Normal', 'Pulled', `Container image "${container.image ?? ''}" already present on machine`);
    this.#report(name, 'Normal', 'Created', 'Container created');
    try {
      const { launcher: sandbox } = this.#options;
      const cwd =
        container.workingDir ?? (image.isDirectory ? image.path : undefined) ?? (await this.#workDirectory(user));
      await mkdir(join(this.#options.directory, 'logs', name), { recursive: true, mode: 0o700 });
      await mkdir(join(this.#options.directory, 'messages'), { recursive: true, mode: 0o711 });
      await writeFile(this.#messageFile(name), '', { mode: 0o600 });
      if (user !== undefined) await chown(this.#messageFile(name), user.uid, user.gid);
      const argv = [sandbox === undefined ? await programOf(image, program) : program, ...args] as const;
      const env = {
        ...this.#options.inherited,
        ...(sandbox === undefined ? { PATH: await searchPath(image, this.#options.inherited['PATH'] ?? '') } : {}),
        TERMINATION_MESSAGE_PATH: sandbox === undefined ? this.#messageFile(name) : messagePath(container),
        ...found.variables,
        [instanceVariable]: id,
      };
      const credentials = user ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, groups: [] };
      const launcher =
        sandbox === undefined
          ? groupLauncher({ argv, env, cwd, credentials })
          : await sandbox(pod, container, { image, argv, env, credentials, messageFile: this.#messageFile(name) });
      const started = await startProcess(this.#options.calls, {
        argv,
        env,
        cwd,
        user,
        launcher,
        directory: this.#pipes(name),
        logPath: this.#log(name, attempt),
        logLimits: this.#options.logLimits,
        tty: container.tty === true,
        diesWithAgent: this.#options.diesWithAgent,
        stdin: container.stdin !== true ? 'none' : container.stdinOnce === true ? 'once' : 'open',
      });
      const running: Instance = { ...instance, pid: started.pid, identity: started.identity, startedAt: clock.now() };
      await this.#set(name, { ...next, current: running });
      this.#watch(name, running, started);
      this.#report(name, 'Normal', 'Started', 'Container started');
    } catch (error) {
      if (!(error instanceof StartError) && !(error instanceof ConfigError)) throw error;
      this.#report(name, 'Warning', 'Failed', `Error: ${messageOf(error)}`);
      const finishedAt = clock.now();
      const ended: Ending = { exitCode: 128, reason: 'StartError', message: messageOf(error), finishedAt };
      await this.#set(name, { ...next, current: { ...instance, ended } });
    }
    this.#options.changed();
  }

  /** Whether a stop was asked for. */
  isStopping(name: string): boolean {
    return this.#stopping.has(name);
  }

  /** Stops a container: `before` runs first, then SIGTERM, and SIGKILL after the grace period, which a later call may shorten. */
  stop(
    name: string,
    graceSeconds: number,
    before: (signal: AbortSignal) => Promise<void>,
    message = `Stopping container ${name}`,
  ): void {
    const { clock } = this.#options;
    const killAt = clock.now() + graceSeconds * 1000;
    const stopping = this.#stopping.get(name);
    if (stopping !== undefined) {
      stopping.killAt = Math.min(stopping.killAt, killAt);
      stopping.wake();
      return;
    }
    const process = this.#processes.get(name);
    if (process === undefined) return;
    const state = { killAt, wake: (): void => undefined };
    this.#stopping.set(name, state);
    this.#report(name, 'Normal', 'Killing', message);
    const run = async (): Promise<void> => {
      const isOver = new AbortController();
      void process.exited.then(() => isOver.abort());
      const until = async (atMs: () => number, work?: Promise<void>): Promise<void> => {
        for (let left = atMs() - clock.now(); left > 0 && !isOver.signal.aborted; left = atMs() - clock.now()) {
          const woken = Promise.withResolvers<'again'>();
          state.wake = () => woken.resolve('again');
          const stop = new AbortController();
          const signal = AbortSignal.any([stop.signal, isOver.signal]);
          const end = await Promise.race([
            sleep(clock, left, signal).then(() => 'over' as const),
            woken.promise,
            ...(work === undefined ? [] : [work.then(() => 'over' as const)]),
          ]);
          stop.abort();
          if (end === 'over') return;
        }
      };
      const hook = new AbortController();
      await until(() => state.killAt, before(AbortSignal.any([hook.signal, isOver.signal])));
      hook.abort();
      process.signal('SIGTERM');
      // What is left of the period, and a moment after a hook that used it up.
      const least = graceSeconds === 0 ? 0 : clock.now() + Math.min(graceSeconds, 2) * 1000;
      await until(() => Math.max(state.killAt, Math.min(least, state.killAt + 2000)));
      if (!isOver.signal.aborted) process.kill();
    };
    void run(); // it never rejects: hooks report their errors as Events
  }

  /** Kills all processes of the Pod. */
  kill(): void {
    for (const process of this.#processes.values()) process.kill();
  }

  /** Tries starts again that failed, because what they need has changed. */
  retryStarts(): void {
    const entries = Object.entries(this.#record.containers).map(([name, own]): [string, ContainerRecord] =>
      own.problem === undefined ? [name, own] : [name, { ...own, problem: { ...own.problem, retryAt: 0 } }],
    );
    this.#record = { ...this.#record, containers: Object.fromEntries(entries) };
  }

  /** Sets what a probe found. */
  async setHealth(name: string, id: string, health: Health): Promise<void> {
    const own = recordOf(this.#record, name);
    const { current } = own;
    if (current?.id !== id || current.ended !== undefined) return;
    const isChanged = Object.entries(health).some(([key, value]) => current[key as keyof Health] !== value); // its keys
    if (!isChanged) return;
    await this.#set(name, { ...own, current: { ...current, ...health } });
    this.#options.changed();
  }

  /** The log files of an instance. */
  async logs(name: string, instance: 'current' | 'previous'): Promise<readonly string[]> {
    const found = recordOf(this.#record, name)[instance];
    return found === undefined ? [] : logFiles(this.#log(name, found.attempt));
  }

  /** Stops watching the processes, which continue. */
  async release(): Promise<void> {
    await Promise.all(Array.from(this.#processes.values(), (process) => process.release()));
  }

  #watch(name: string, instance: Instance, process: MainProcess): void {
    this.#processes.set(name, process);
    void process.exited.then(async (exit) => {
      if (this.#processes.get(name) === process) this.#processes.delete(name);
      this.#stopping.delete(name);
      await this.#end(name, instance, exit);
      this.#options.changed();
    });
  }

  async #end(name: string, { id }: Instance, exit: Exit): Promise<void> {
    const own = recordOf(this.#record, name);
    const { current } = own;
    if (current?.id !== id || !isRunning(own)) return;
    const ending = endingOf(exit, this.#options.clock.now());
    const message = await terminationMessage({
      file: this.#messageFile(name),
      log: this.#log(name, current.attempt),
      fallsBack: current.usesLogMessage === true && ending.exitCode !== 0,
    });
    const ended = message === '' ? ending : { ...ending, message };
    await this.#set(name, { ...own, current: { ...current, isReady: false, ended } });
    this.#options.ended(id);
  }

  async #fail(name: string, { reason, backoffReason = reason, event, message }: FailedStart): Promise<void> {
    const own = recordOf(this.#record, name);
    const failures = (own.problem?.failures ?? 0) + 1;
    const retryAt = this.#options.clock.now() + Math.min(retryMs * 2 ** Math.min(failures - 1, 10), maxRetryMs);
    if (own.problem?.message !== message || !reportsOnce.has(event)) this.#report(name, 'Warning', event, message);
    const problem = { reason: failures === 1 ? reason : backoffReason, message, retryAt, failures };
    await this.#set(name, { ...own, problem });
  }

  async #set(name: string, record: ContainerRecord): Promise<void> {
    await this.update({ containers: { ...this.#record.containers, [name]: record } });
  }

  #report(container: string, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#options.record({ type, reason, message, container });
  }

  /** The working directory of all containers of this user. */
  async #workDirectory(user: User | undefined): Promise<string> {
    const path = join(this.#options.directory, user === undefined ? 'work' : `work-${user.uid}`);
    await mkdir(path, { recursive: true, mode: 0o700 });
    if (user !== undefined) await chown(path, user.uid, user.gid);
    return path;
  }

  async #removeLogs(name: string, attempt: number): Promise<void> {
    if (attempt < 0) return;
    for (const file of await logFiles(this.#log(name, attempt))) await rm(file, { force: true });
  }

  #messageFile(name: string): string {
    return join(this.#options.directory, 'messages', name);
  }

  #pipes(name: string): string {
    return join(this.#options.directory, 'pipes', name);
  }

  #log(name: string, attempt: number): string {
    return join(this.#options.directory, 'logs', name, `${attempt}.log`);
  }
}

/** A launcher for supplementary groups, which the start of a process cannot set; undefined: there are none. */
const groupLauncher = (program: Program): Launcher | undefined =>
  program.credentials.groups.length === 0
    ? undefined
    : {
        argv: asUserArgv(program),
        env: { ...launcherEnvironment, [instanceVariable]: program.env[instanceVariable] ?? '' },
      };

/** What probes and hooks find out about an instance. */
type Health = Partial<Pick<Instance, 'isReady' | 'isStarted' | 'isStarting'>>;

interface FailedStart {
  readonly reason: string;
  /** The reason from the second attempt on. */
  readonly backoffReason?: string;
  /** The reason of the Event. */
  readonly event: string;
  readonly message: string;
}

/** Events about what another attempt does not change: one is enough. */
const reportsOnce: ReadonlySet<string> = new Set(['ImageNotMapped', 'InspectFailed']);

/** Why nothing runs for the image of a container. */
function imageProblem({ image = '', imagePullPolicy }: Container): FailedStart {
  if (!isImageName(image)) {
    const message = `Failed to apply default image tag "${image}": couldn't parse image name "${image}": invalid reference format`;
    return { reason: 'InvalidImageName', event: 'InspectFailed', message };
  }
  const message = notMapped(image);
  if (imagePullPolicy === 'Never') return { reason: 'ErrImageNeverPull', event: 'ImageNotMapped', message };
  return { reason: 'ErrImagePull', backoffReason: 'ImagePullBackOff', event: 'ImageNotMapped', message };
}

/** Killed by SIGKILL, which is what a process is assumed to be that vanished. */
const lostExitCode = 137;

function endingOf(exit: Exit, finishedAt: number): Ending {
  if (exit === undefined) {
    return { exitCode: lostExitCode, reason: 'ContainerStatusUnknown', message: lostMessage, finishedAt };
  }
  return { exitCode: exit.exitCode, reason: exit.exitCode === 0 ? 'Completed' : 'Error', finishedAt };
}
