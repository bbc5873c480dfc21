// The clusters of a set: our API servers without persistence, since the store is not measured.

import type { ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { Target } from '../client.ts';
import { cpuSecondsOf, residentBytesOf, start, stopAll } from '../process.ts';

/** Running clusters, the files with which a controller finds them, and their cost. */
export interface Clusters extends AsyncDisposable {
  readonly targets: readonly Target[];
  readonly kubeconfig: string;
  readonly members: string;
  /** Total CPU seconds of all clusters so far. */
  cpuSeconds(): number;
  residentBytes(): number;
}

const token = 'bench-token';

/** The id of the cluster with a number. */
export const clusterId = (index: number): string => `c${index}`;

/** Clusters per process. */
const mostInProcess = 50;

/** Starts API servers in as few processes as possible. */
export async function startClusters(count: number): Promise<Clusters> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-'));
  const tokens = join(directory, 'tokens.csv');
  await writeFile(tokens, `${token},bench,1,"system:masters"\n`);
  const ids = Array.from({ length: count }, (_, index) => clusterId(index));
  const parts: Part[] = [];
  for (let from = 0; from < count; from += mostInProcess) {
    parts.push(startPart(ids.slice(from, from + mostInProcess), { data: join(directory, `data-${from}`), tokens }));
  }
  const children = parts.map(({ child }) => child);
  const pids = children.map(({ pid = 0 }) => pid);
  return {
    targets: (await Promise.all(parts.map(({ data }) => readyTargets(join(data, 'state.json'))))).flat(),
    kubeconfig: kubeconfigOf(parts[0]),
    members: await writeMembers(directory, parts),
    cpuSeconds: () => cpuSecondsOf(pids),
    residentBytes: () => residentBytesOf(pids),
    async [Symbol.asyncDispose]() {
      await stopAll(children);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** One process, its clusters and its directory. */
interface Part {
  readonly ids: readonly string[];
  readonly data: string;
  readonly child: ChildProcess;
}

function startPart(ids: readonly string[], { data, tokens }: { data: string; tokens: string }): Part {
  const program = new URL('../../bin/fairlead.js', import.meta.url).pathname;
  const args = ['up', '--parts', 'server', '--store', 'memory', '--data-dir', data, '--port-base', '0'];
  const clusters = ids.flatMap((id) => ['--cluster', id]);
  return { ids, data, child: start(process.execPath, [program, ...args, ...clusters, '--token-auth-file', tokens]) };
}

const kubeconfigOf = (part: Part | undefined): string => join(part?.data ?? '', 'kubeconfig');

const startMs = 60_000;

/** The addresses of the servers, once they answer. */
async function readyTargets(state: string): Promise<readonly Target[]> {
  for (const end = performance.now() + startMs; performance.now() < end; await delay(20)) {
    const text = await readFile(state, 'utf8').catch(() => undefined); // written when all are ready
    if (text === undefined) continue;
    const { clusters }: { readonly clusters: readonly { readonly server: string }[] } = JSON.parse(text);
    return clusters.map(({ server }) => ({ host: '127.0.0.1', port: Number(new URL(server).port), token }));
  }
  throw new Error(`the clusters were not ready within ${startMs} ms`);
}

/** Writes the file of members and returns its path. */
async function writeMembers(directory: string, parts: readonly Part[]): Promise<string> {
  const path = join(directory, 'members.json');
  const members = parts
    .flatMap((part) => part.ids.map((id) => ({ id, context: id, kubeconfig: kubeconfigOf(part) })))
    .map((member, index) => ({ ...member, superclusterCIDRs: [`241.${index}.0.0/16`] }));
  await writeFile(path, JSON.stringify({ members }));
  return path;
}
