// The programs that envtest starts: kube-apiserver with etcd, and the launchers of Fairlead. Both with envtest's order,
// flags and readiness checks.

import { execFile } from 'node:child_process';
import { mkdtemp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { KeyPair } from '../src/server/pki/issue.ts';
import { issue, issueCa } from '../src/server/pki/issue.ts';
import type { Programs } from './kube-apiserver.ts';
import { cpuSecondsOf, freePort, residentBytesOf, start, stopAll } from './process.ts';
import { median } from './quantile.ts';

const root = join(import.meta.dirname, '..');
const run = promisify(execFile);
const validity = { now: new Date(), days: 1 };
const rounds = 5;

/** What is measured, in this order. */
export const envtestFigures = ['start, ms', 'CPU of the start, ms', 'memory, MB', 'stop, ms'] as const;

/** Measures both in turn; the name of the programs → the medians of their figures. */
export async function measureEnvtest(
  peer: Programs | undefined,
  progress: (text: string) => void,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-envtest-'));
  try {
    const ours = join(directory, 'fairlead');
    await run(process.execPath, [join(root, 'bin/fairlead.js'), 'envtest', 'install', ours]);
    const assets = new Map([['Fairlead', ours]]);
    if (peer !== undefined) {
      const theirs = join(directory, 'kubernetes');
      await mkdir(theirs);
      await symlink(peer.apiserver, join(theirs, 'kube-apiserver'));
      await symlink(peer.etcd, join(theirs, 'etcd'));
      assets.set('kube-apiserver + etcd', theirs);
    }
    const measured = new Map(Array.from(assets.keys(), (name) => [name, [] as (readonly number[])[]]));
    // The first round fills caches.
    for (let round = 0; round <= rounds; round++) {
      for (const [name, path] of assets) {
        progress(`${name}, round ${round} of ${rounds}`);
        const figures = await measureOnce(path, join(directory, 'run'));
        if (round > 0) measured.get(name)?.push(figures);
      }
    }
    const medians = (all: readonly (readonly number[])[]): readonly number[] =>
      envtestFigures.map((_, index) => median(all.map((figures) => figures[index] ?? NaN)));
    return new Map(Array.from(measured, ([name, all]) => [name, medians(all)]));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Starts and stops the programs of one directory like envtest. */
async function measureOnce(assets: string, directory: string): Promise<readonly number[]> {
  const certificates = join(directory, 'certificates');
  await mkdir(certificates, { recursive: true });
  const admin = await writeCertificates(certificates);
  const [client, peer, secure] = await Promise.all([freePort(), freePort(), freePort()]);
  const etcdUrl = `http://127.0.0.1:${client}`;
  const began = performance.now();
  await run(join(assets, 'etcd'), ['--help']);
  const etcd = start(join(assets, 'etcd'), [
    `--advertise-client-urls=${etcdUrl}`,
    `--data-dir=${join(directory, 'etcd')}`,
    `--listen-client-urls=${etcdUrl}`,
    `--listen-peer-urls=http://127.0.0.1:${peer}`,
    '--unsafe-no-fsync=true',
  ]);
  const children = [etcd];
  try {
    await until(async () => (await fetch(`${etcdUrl}/health`)).status === 200);
    await run(join(assets, 'kube-apiserver'), ['--help'], { maxBuffer: 4 << 20 });
    const server = start(join(assets, 'kube-apiserver'), apiServerFlags(etcdUrl, secure, certificates));
    children.unshift(server);
    const url = `https://127.0.0.1:${secure}`;
    await until(async () => (await statusOf(`${url}/healthz`)) === 200);
    await until(async () => (await statusOf(`${url}/api/v1/namespaces/default`, admin)) === 200);
    const startMs = performance.now() - began;
    const pids = children.map(({ pid }) => pid ?? 0);
    const figures = [startMs, cpuSecondsOf(pids) * 1000, residentBytesOf(pids) / 1e6];
    const stopping = performance.now();
    await stopAll([server]);
    await stopAll([etcd]);
    return [...figures, performance.now() - stopping];
  } finally {
    await stopAll(children);
    await rm(directory, { recursive: true, force: true });
  }
}

const apiServerFlags = (etcdUrl: string, port: number, certificates: string): readonly string[] => [
  '--allow-privileged=true',
  '--authorization-mode=RBAC',
  '--bind-address=127.0.0.1',
  '--advertise-address=192.0.2.10', // required where there is no default route
  `--cert-dir=${certificates}`,
  `--client-ca-file=${join(certificates, 'client-cert-auth-ca.crt')}`,
  '--disable-admission-plugins=ServiceAccount',
  `--etcd-servers=${etcdUrl}`,
  `--secure-port=${port}`,
  '--service-account-issuer=https://127.0.0.1/',
  `--service-account-key-file=${join(certificates, 'sa-signer.crt')}`,
  `--service-account-signing-key-file=${join(certificates, 'sa-signer.key')}`,
  '--service-cluster-ip-range=10.0.0.0/24',
];

/** Writes the files of envtest; returns the credentials of an administrator. */
async function writeCertificates(directory: string): Promise<KeyPair> {
  const [serving, clients, accounts] = await Promise.all([
    issueCa('envtest', validity),
    issueCa('clients', validity),
    issueCa('accounts', validity),
  ]);
  const names = { dns: ['localhost'], ips: ['127.0.0.1'] };
  const pair = await issue(serving, { use: 'server', commonName: 'apiserver', names }, validity);
  const files = {
    'apiserver.crt': pair.cert,
    'apiserver.key': pair.key,
    'sa-signer.crt': accounts.cert,
    'sa-signer.key': accounts.key,
    'client-cert-auth-ca.crt': clients.cert,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  return issue(clients, { use: 'client', commonName: 'admin', groups: ['system:masters'] }, validity);
}

const statusOf = (url: string, credentials: Partial<KeyPair> = {}): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { ...credentials, rejectUnauthorized: false, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject);
    sent.end();
  });

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 60_000; ;) {
    try {
      if (await isTrue()) return;
    } catch {
      // It does not listen yet.
    }
    if (performance.now() > end) throw new Error('not ready within a minute');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
