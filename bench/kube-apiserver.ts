import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { cpuSecondsOf, firstAnswer, freePort, residentBytesOf, start, stopAll } from './process.ts';
import type { Running } from './process.ts';

const token = 'bench-token';

/** The paths of the peer's programs, if they are installed. */
export interface Programs {
  readonly apiserver: string;
  readonly etcd: string;
}

/** kube-apiserver with one etcd, both with their data on the same disk as ours. */
export async function startKubeApiserver({ apiserver, etcd }: Programs): Promise<Running> {
  const directory = await mkdtemp(join(tmpdir(), 'kube-apiserver-bench-'));
  const [port, clientPort, peerPort] = await Promise.all([freePort(), freePort(), freePort()]);
  await writeFile(join(directory, 'tokens.csv'), `${token},bench,1,"system:masters"\n`);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(join(directory, 'sa.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));

  const store = start(etcd, [
    `--data-dir=${join(directory, 'etcd')}`,
    `--listen-client-urls=http://127.0.0.1:${clientPort}`,
    `--advertise-client-urls=http://127.0.0.1:${clientPort}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-cluster=default=http://127.0.0.1:${peerPort}`,
  ]);
  const server = start(apiserver, [
    `--etcd-servers=http://127.0.0.1:${clientPort}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
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
  const pids = [server.pid ?? 0, store.pid ?? 0];
  return {
    name: 'kube-apiserver + etcd',
    target,
    coldStartMs,
    cpuSeconds: () => cpuSecondsOf(pids),
    residentBytes: () => residentBytesOf(pids),
    async stop() {
      await stopAll([server, store]);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
