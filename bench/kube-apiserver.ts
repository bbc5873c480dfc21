import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startEtcd } from './etcd/programs.ts';
import type { RunningEtcd } from './etcd/programs.ts';
import { cpuSecondsOf, firstAnswer, freePort, residentBytesOf, start, stopAll } from './process.ts';
import type { Running } from './process.ts';

const token = 'bench-token';

/** The paths of the peer's programs, if they are installed. */
export interface Programs {
  readonly apiserver: string;
  readonly etcd: string;
}

/** kube-apiserver with an etcd of its own, both with their data on the same disk as ours. */
export async function startKubeApiserver({ apiserver, etcd }: Programs): Promise<Running> {
  const store = await startEtcd(etcd);
  const running = await kubeApiserverOver(apiserver, store);
  return {
    ...running,
    name: 'kube-apiserver + etcd',
    cpuSeconds: () => running.cpuSeconds() + store.cpuSeconds(),
    residentBytes: () => running.residentBytes() + store.residentBytes(),
    async stop() {
      await running.stop();
      await store.stop();
    },
  };
}

/** kube-apiserver over an etcd that runs. */
export async function kubeApiserverOver(apiserver: string, store: RunningEtcd): Promise<Running> {
  const directory = await mkdtemp(join(tmpdir(), 'kube-apiserver-bench-'));
  const port = await freePort();
  await writeFile(join(directory, 'tokens.csv'), `${token},bench,1,"system:masters"\n`);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(join(directory, 'sa.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));

  const server = start(apiserver, [
    `--etcd-servers=${store.url}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=192.0.2.10', // required where there is no default route
    `--cert-dir=${join(directory, 'certificates')}`,
    `--token-auth-file=${join(directory, 'tokens.csv')}`,
    '--authorization-mode=AlwaysAllow',
    '--service-cluster-ip-range=10.0.0.0/16',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${join(directory, 'sa.key')}`,
    `--service-account-signing-key-file=${join(directory, 'sa.key')}`,
    '--endpoint-reconciler-type=none',
  ]);
  const target = { host: '127.0.0.1', port, token };
  const coldStartMs = await firstAnswer(target, '/api/v1/namespaces/default/services/kubernetes');
  const pids = [server.pid ?? 0];
  return {
    name: 'kube-apiserver',
    target,
    coldStartMs,
    cpuSeconds: () => cpuSecondsOf(pids),
    residentBytes: () => residentBytesOf(pids),
    async stop() {
      await stopAll([server]);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
