// etcd, and API servers over it, each as a process.

import { cp, mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { cpuSecondsOf, firstAnswer, freePort, residentBytesOf, start, stopAll } from '../process.ts';
import type { Running } from '../process.ts';

const token = 'bench-token';

/** One member of etcd, with its data on the disk of the other programs. */
export interface RunningEtcd {
  readonly url: string;
  cpuSeconds(): number;
  residentBytes(): number;
  /** The number of calls of a method of its API since its start. */
  calls(method: string): Promise<number>;
  stop(): Promise<void>;
}

/** Starts etcd with its default settings. */
export async function startEtcd(program: string): Promise<RunningEtcd> {
  const directory = await mkdtemp(join(tmpdir(), 'etcd-bench-'));
  const [clientPort, peerPort] = await Promise.all([freePort(), freePort()]);
  const url = `http://127.0.0.1:${clientPort}`;
  const child = start(program, [
    `--data-dir=${directory}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-cluster=default=http://127.0.0.1:${peerPort}`,
  ]);
  return {
    url,
    cpuSeconds: () => cpuSecondsOf([child.pid ?? 0]),
    residentBytes: () => residentBytesOf([child.pid ?? 0]),
    async calls(method) {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      const pattern = new RegExp(`^grpc_server_started_total{grpc_method="${method}".*} (\\S+)$`, 'gm');
      return Array.from(metrics.matchAll(pattern), ([, count]) => Number(count)).reduce((sum, each) => sum + each, 0);
    },
    async stop() {
      await stopAll([child]);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Servers of one cluster. */
export interface RunningServers extends Running {
  readonly targets: Running['target'][];
  /** Kills a server. */
  kill(index: number): Promise<void>;
  /** Kills all servers and starts the first again; resolves with the milliseconds to its first answer. */
  restart(): Promise<number>;
}

/** Our API servers of one cluster, over etcd, or one over SQLite. */
export async function startServers(
  etcd: { readonly url: string; readonly prefix: string } | undefined,
  count = 1,
): Promise<RunningServers> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-'));
  const tokens = join(directory, 'tokens.csv');
  await writeFile(tokens, `${token},bench,1,"system:masters"\n`);
  const store = etcd === undefined ? [] : ['--store', 'etcd', '--etcd-servers', etcd.url, '--etcd-prefix', etcd.prefix];
  const program = new URL('../../bin/fairlead.js', import.meta.url).pathname;
  const path = '/api/v1/namespaces/default/services/kubernetes';
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  const targets = ports.map((port) => ({ host: '127.0.0.1', port, token }));
  const begin = async (index: number): Promise<{ child: ReturnType<typeof start>; startMs: number }> => {
    const data = join(directory, String(index));
    if (index > 0) {
      await mkdir(data, { mode: 0o700 });
      await cp(join(directory, '0', 'pki'), join(data, 'pki'), { recursive: true });
    }
    const flags = ['--data-dir', data, '--secure-port', String(ports[index]), '--token-auth-file', tokens];
    const range = ['--service-cluster-ip-range', '10.0.0.0/12'];
    const child = start(process.execPath, [program, 'server', ...flags, ...range, ...store]);
    const target = targets[index];
    if (target === undefined) throw new Error('bug: a server has a port');
    return { child, startMs: await firstAnswer(target, path) };
  };
  const first = await begin(0);
  const children = [first.child];
  for (let index = 1; index < count; index++) children.push((await begin(index)).child);
  const running = (): number[] =>
    children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null).map(({ pid = 0 }) => pid);
  return {
    name: `Fairlead × ${count}`,
    target: { host: '127.0.0.1', port: ports[0] ?? 0, token },
    targets,
    coldStartMs: first.startMs,
    cpuSeconds: () => cpuSecondsOf(running()),
    residentBytes: () => residentBytesOf(running()),
    async kill(index) {
      await stopAll(children.slice(index, index + 1));
    },
    async restart() {
      await stopAll(children);
      const again = await begin(0);
      children.splice(0, children.length, again.child);
      return again.startMs;
    },
    async stop() {
      await stopAll(children);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
