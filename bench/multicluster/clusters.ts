// The clusters of a set as one process of our API servers, without disks: what is measured is not how fast those are.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { Target } from '../client.ts';
import { cpuSecondsOf, residentBytesOf, start, stopAll } from '../process.ts';

/** Clusters that run, the files by which a controller finds them, and what they cost. */
export interface Clusters extends AsyncDisposable {
  readonly targets: readonly Target[];
  readonly kubeconfig: string;
  readonly members: string;
  /** CPU seconds of all of them so far. */
  cpuSeconds(): number;
  residentBytes(): number;
}

const token = 'bench-token';

/** The id of a cluster by its number. */
export const clusterId = (index: number): string => `c${index}`;

/** Starts API servers in one process. */
export async function startClusters(count: number): Promise<Clusters> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-'));
  const tokens = join(directory, 'tokens.csv');
  await writeFile(tokens, `${token},bench,1,"system:masters"\n`);
  const data = join(directory, 'data');
  const args = ['up', '--parts', 'server', '--store', 'memory', '--data-dir', data, '--port-base', '0'];
  for (let index = 0; index < count; index++) args.push('--cluster', clusterId(index));
  const program = new URL('../../bin/fairlead.js', import.meta.url).pathname;
  const child = start(process.execPath, [program, ...args, '--token-auth-file', tokens]);
  const targets = await readyTargets(join(data, 'state.json'));
  const pids = [child.pid ?? 0];
  return {
    targets,
    kubeconfig: join(data, 'kubeconfig'),
    members: await writeMembers(directory, join(data, 'kubeconfig'), count),
    cpuSeconds: () => cpuSecondsOf(pids),
    residentBytes: () => residentBytesOf(pids),
    async [Symbol.asyncDispose]() {
      await stopAll([child]);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

const startMs = 60_000;

/** Where the servers are, once they answer. */
async function readyTargets(state: string): Promise<readonly Target[]> {
  for (const end = performance.now() + startMs; performance.now() < end; await delay(20)) {
    const text = await readFile(state, 'utf8').catch(() => undefined); // written when all are ready
    if (text === undefined) continue;
    const { clusters }: { readonly clusters: readonly { readonly server: string }[] } = JSON.parse(text);
    return clusters.map(({ server }) => ({ host: '127.0.0.1', port: Number(new URL(server).port), token }));
  }
  throw new Error(`the clusters were not ready within ${startMs} ms`);
}

/** Writes the file of members; resolves with its path. */
async function writeMembers(directory: string, kubeconfig: string, count: number): Promise<string> {
  const path = join(directory, 'members.json');
  const members = Array.from({ length: count }, (_, index) => ({
    id: clusterId(index),
    context: clusterId(index),
    kubeconfig,
    superclusterCIDRs: [`241.${index}.0.0/16`],
  }));
  await writeFile(path, JSON.stringify({ members }));
  return path;
}
