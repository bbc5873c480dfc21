// Measures API servers over one etcd: one, two and three of ours, and a kube-apiserver.

import { createRequest, measureFanOut, measureList, measureWrites, updateRequest } from './api.bench.ts';
import type { Result } from './api.bench.ts';
import { load } from './client.ts';
import { measureFailover } from './etcd/failover.ts';
import { startEtcd, startServers } from './etcd/programs.ts';
import type { RunningEtcd, RunningServers } from './etcd/programs.ts';
import { kubeApiserverOver } from './kube-apiserver.ts';
import type { Running } from './process.ts';

/** The number of Services in each cluster. */
const total = 3000;

type Progress = (text: string) => void;

/** Servers, and what they cost. */
export interface EtcdFigures {
  readonly name: string;
  readonly results: readonly Result[];
}

/** Measures all of them in turn; those that are not installed are left out. */
export async function measureEtcd(
  programs: { readonly etcd: string; readonly apiserver: string | undefined },
  progress: Progress,
): Promise<EtcdFigures[]> {
  const figures: EtcdFigures[] = [];
  const etcd = await startEtcd(programs.etcd);
  try {
    if (programs.apiserver !== undefined) {
      const peer = await kubeApiserverOver(programs.apiserver, etcd);
      figures.push(await measureServers(peer, etcd, progress));
    }
    for (const count of [1, 2, 3]) {
      const servers = await startServers({ url: etcd.url, prefix: `/bench${count}` }, count);
      figures.push(await measureServers(servers, etcd, progress));
    }
  } finally {
    await etcd.stop();
  }
  return figures;
}

async function measureServers(
  servers: Running | RunningServers,
  etcd: RunningEtcd,
  progress: Progress,
): Promise<EtcdFigures> {
  const withEtcd: Running = { ...servers, cpuSeconds: () => servers.cpuSeconds() + etcd.cpuSeconds() };
  const report = (what: string): void => progress(`${servers.name}: ${what}`);
  try {
    report('writes');
    await measureWrites(withEtcd, { clients: 64, count: 500, request: createRequest('warm') });
    const results: Result[] = [];
    for (const [name, clients, count, request] of [
      ['creates, 1 client', 1, 300, createRequest('one')],
      ['creates, 64 clients', 64, total, createRequest('first')],
      ['updates, 1 client', 1, 300, updateRequest],
      ['updates, 64 clients', 64, total, updateRequest],
    ] as const) {
      results.push({ name, unit: '/s', ...(await measureWrites(withEtcd, { clients, count, request })) });
    }
    report('reads');
    results.push(...(await measureGets(withEtcd, etcd)), await measureList(withEtcd, total + 800));
    report('watches');
    results.push(await measureFanOut(withEtcd));
    const servingCount = servers.targets?.length ?? 1;
    results.push({ name: 'memory per server', unit: 'MB', value: servers.residentBytes() / servingCount / 1e6 });
    if ('kill' in servers && servingCount > 1) results.push(await measureFailover(servers));
    return { name: servers.name, results };
  } finally {
    await servers.stop();
  }
}

/** Consistent reads of one Service. */
async function measureGets(running: Running, etcd: RunningEtcd): Promise<Result[]> {
  const count = 500;
  const [cpuBefore, callsBefore] = [running.cpuSeconds(), await etcd.calls('Range')];
  const seconds = await load(running.targets ?? running.target, {
    clients: 1,
    count,
    request: (index) => ['GET', `/api/v1/namespaces/default/services/first-${index}`],
  });
  const calls = (await etcd.calls('Range')) - callsBefore;
  const cpuMicros = ((running.cpuSeconds() - cpuBefore) / count) * 1e6;
  return [
    { name: 'consistent get', unit: 'ms', value: (seconds / count) * 1000, cpuMicros },
    { name: 'reads of etcd for a consistent get', unit: '', value: calls / count },
  ];
}
