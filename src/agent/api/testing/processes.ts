import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';

import type { ContainerStatus, Pod } from '../../../api/kinds/core/pod/schema.ts';
import type { LocalContainer, LocalPod, ProcessStreams, Runtime, StartedProcess } from '../../pods/runtime.ts';

/** A container of a test: a plain process, whose log files the test writes. */
export interface TestContainer {
  readonly name: string;
  readonly logFiles?: LocalContainer['logFiles'];
  /** The instance before; undefined: there was none. */
  readonly lastContainerId?: string;
  readonly attach?: LocalContainer['attach'];
}

/** A runtime whose containers start plain processes, without terminals. */
export class TestRuntime implements Runtime {
  readonly #pods = new Map<string, LocalPod>();
  /** The processes that run. */
  readonly running = new Set<ChildProcess>();

  add(
    { namespace, name, uid }: Record<'namespace' | 'name' | 'uid', string>,
    containers: readonly TestContainer[],
  ): void {
    const pod = { metadata: { namespace, name, uid }, spec: {}, status: {} } as unknown as Pod;
    this.#pods.set(`${namespace}/${name}`, {
      pod,
      ip: '127.0.0.1',
      cgroup: undefined,
      containers: containers.map((container) => this.#container(container)),
    });
  }

  pods(): readonly LocalPod[] {
    return [...this.#pods.values()];
  }

  find(namespace: string, name: string): LocalPod | undefined {
    return this.#pods.get(`${namespace}/${name}`);
  }

  #container({
    name,
    logFiles = async () => [],
    lastContainerId,
    attach = () => undefined,
  }: TestContainer): LocalContainer {
    const lastState =
      lastContainerId === undefined ? {} : { terminated: { containerID: lastContainerId, exitCode: 1 } };
    const state = { running: { startedAt: '2026-01-01T00:00:00Z' } };
    const { running } = this;
    // Only what the server of the node reads.
    const status = { name, containerID: `process://${name}`, state, lastState } as unknown as ContainerStatus;
    return {
      name,
      status,
      pid: process.pid,
      cgroup: undefined,
      get sessions() {
        return [...running].map(({ pid = 0 }) => pid); // each leads a session
      },
      logFiles,
      attach,
      start: (command, streams) => this.#start(command, streams),
    };
  }

  async #start([program = '', ...args]: readonly string[], { stdin }: ProcessStreams): Promise<StartedProcess> {
    const child = spawn(program, args, { stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'], detached: true });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    this.running.add(child);
    const exited = new Promise<number>((resolve) => {
      child.once('exit', (code, signal) => {
        this.running.delete(child);
        resolve(signal === null ? (code ?? 0) : 128 + constants.signals[signal]);
      });
    });
    const { pid = 0, stdout, stderr } = child;
    if (stdout === null || stderr === null) throw new Error('bug: no pipes');
    return {
      pid,
      stdin: child.stdin ?? undefined,
      stdout,
      stderr,
      resize: () => undefined,
      kill: () => {
        try {
          process.kill(-pid, 'SIGKILL');
        } catch {
          // it has ended
        }
      },
      exited,
    };
  }
}
