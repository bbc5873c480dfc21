// Runs in a network namespace, by `unshare --net node rules.ts`: a server, and one proxy after the other with
// the same objects, whose number grows. Prints its results as JSON for `in-namespace.ts`.
import { execFileSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Result } from '../api.bench.ts';
import { startFairlead } from '../fairlead.ts';
import { kubeconfigFor } from '../kubeconfig.ts';
import { familyCpuSecondsOf, settled, stopAll } from '../process.ts';
import { median } from '../quantile.ts';
import { begin, endpointsPerService, fill, ownAddresses, Probe, serviceRange } from './cluster.ts';
import type { Program } from './programs.ts';
import { fairleadProxy, kubeProxy } from './programs.ts';

/** The number of changes, unless time runs out before. */
const changes = 5;
const changesMs = 10_000;
/** Between two changes: longer than the minimum sync interval of both programs. */
const restMs = 1200;
const deadlineMs = 240_000;

/** The results for one number of Services. */
interface Scene {
  readonly probe: Probe;
  readonly kubeconfig: string;
  readonly directory: string;
  readonly services: number;
}

/** One program from its start, without any rules, to all of them; then changes of one endpoint. */
async function measure(program: Program, { probe, kubeconfig, directory, services }: Scene): Promise<Result[]> {
  const started = performance.now();
  const child = await program.start(kubeconfig, directory);
  try {
    await probe.arrives(deadlineMs);
    const coldMs = performance.now() - started;
    const cold = await settledCpu(child);
    const times: number[] = [];
    const enough = performance.now() + changesMs;
    while (times.length === 0 || (times.length < changes && performance.now() < enough)) {
      await new Promise((resolve) => setTimeout(resolve, restMs));
      const changed = await probe.move();
      await probe.arrives(deadlineMs);
      times.push(performance.now() - changed);
    }
    const warm = (await settledCpu(child)) - cold;
    const name = `${services.toLocaleString('en')} Services × ${endpointsPerService}`;
    return [
      { name: `${name}, from the start to all rules`, value: coldMs, unit: 'ms' },
      { name: `${name}, CPU of a start`, value: cold * 1000, unit: 'ms' },
      { name: `${name}, an endpoint changes until connections follow`, value: median(times), unit: 'ms' },
      { name: `${name}, CPU of a change`, value: (warm * 1000) / times.length, unit: 'ms' },
    ];
  } finally {
    await stopAll([child]);
    execFileSync('nft', ['flush', 'ruleset']);
  }
}

/** CPU seconds of a program and its children, once it is idle. */
async function settledCpu({ pid = 0 }: ChildProcess): Promise<number> {
  const cpu = (): number => familyCpuSecondsOf(pid);
  await settled(cpu);
  return cpu();
}

function makeNetwork(): void {
  execFileSync('ip', ['link', 'set', 'lo', 'up']);
  for (const address of ownAddresses) execFileSync('ip', ['address', 'add', `${address}/32`, 'dev', 'lo']);
  // Virtual addresses are local, so that packets without a rule are refused at once.
  execFileSync('ip', ['route', 'add', 'local', serviceRange, 'dev', 'lo']);
}

/** The results of every program for every number of Services that it supports, by name. */
async function measureAll(programs: readonly Program[], scales: readonly number[]): Promise<Record<string, Result[]>> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-'));
  const server = await startFairlead();
  try {
    using probe = await Probe.open(server.target);
    const kubeconfig = join(directory, 'kubeconfig');
    await writeFile(kubeconfig, kubeconfigFor(server.target));
    await begin(server.target);
    const results: Record<string, Result[]> = {};
    let filled = 0;
    for (const services of scales) {
      await fill(server.target, filled, services);
      filled = services;
      for (const program of programs.filter(({ mostServices }) => services <= mostServices)) {
        console.error(`${program.name}: ${services} Services`);
        (results[program.name] ??= []).push(...(await measure(program, { probe, kubeconfig, directory, services })));
      }
    }
    return results;
  } finally {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Numbers of Services, smallest first. */
const scales = [1000, 2000, 5000, 20_000];

makeNetwork();
const peer = process.env['KUBE_PROXY'];
const programs = [fairleadProxy, ...(peer === undefined ? [] : [kubeProxy(peer)])];
console.log(JSON.stringify(await measureAll(programs, scales)));
process.exit(0);
