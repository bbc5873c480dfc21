// The measured programs as separate processes.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';

import { Connection } from './client.ts';
import type { Target } from './client.ts';

/** A running server, with functions that return its cost. */
export interface Running {
  readonly name: string;
  readonly target: Target;
  /** All servers, if there are several. */
  readonly targets?: readonly Target[];
  /** Milliseconds from the start of the process to the first response. */
  readonly coldStartMs: number;
  /** CPU seconds used so far by all its processes. */
  cpuSeconds(): number;
  residentBytes(): number;
  stop(): Promise<void>;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address !== 'object' || address === null) throw new Error('bug: a listening server has an address');
  return address.port;
}

/** Starts a program; its output is shown only if it fails to answer. */
export function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output.push(chunk);
      if (output.length > 1000) output.shift();
    });
  }
  child.on('exit', (code) => {
    if (code !== null && code !== 0) process.stderr.write(Buffer.concat(output));
  });
  return child;
}

/** Milliseconds until `path` answers 200. */
export async function firstAnswer(target: Target, path: string, deadlineMs = 60_000): Promise<number> {
  const started = performance.now();
  while (performance.now() - started < deadlineMs) {
    try {
      const connection = await Connection.open(target);
      const { status } = await connection.request('GET', path);
      connection.close();
      if (status === 200) return performance.now() - started;
    } catch {
      // not listening yet
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`${path} did not answer within ${deadlineMs} ms`);
}

const ticksPerSecond = 100;

export function cpuSecondsOf(pids: readonly number[]): number {
  const ticks = pids.map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, each) => sum + each, 0) / ticksPerSecond;
}

/** Resolves when the processes with these CPU seconds are idle, or after a minute. */
export async function settled(cpuSeconds: () => number): Promise<void> {
  for (let last = -1, now = 0, looks = 0; now - last > 0.02 && looks < 120; looks++) {
    last = cpuSeconds();
    await new Promise((resolve) => setTimeout(resolve, 500));
    now = cpuSeconds();
  }
}

/** CPU seconds of a process, its running children, and those that have exited. */
export function familyCpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const own = [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0) / ticksPerSecond;
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return children.reduce((sum, child) => sum + familyCpuSecondsOf(child), own);
}

export function residentBytesOf(pids: readonly number[]): number {
  const kilobytes = pids.map((pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]));
  return kilobytes.reduce((sum, each) => sum + each, 0) * 1024;
}

export async function stopAll(children: readonly ChildProcess[]): Promise<void> {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
  }
}
