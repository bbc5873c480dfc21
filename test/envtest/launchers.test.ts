// The launchers as controller-runtime's envtest runs them: its order, its flags, its files and its readiness checks.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';

import { findKubectls } from '../harness/kubectl.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { run, start } from '../harness/command.ts';
import { root } from '../harness/process.ts';
import type { KeyPair } from '../../src/server/pki/issue.ts';
import { issue, issueCa } from '../../src/server/pki/issue.ts';

const fairlead = join(root, 'bin', 'fairlead.js');
const validity = { now: new Date(), days: 1 };

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Writes the files of envtest; returns the authority of the clients. */
async function writeCertificates(directory: string): Promise<KeyPair> {
  const [serving, clients] = await Promise.all([issueCa('envtest', validity), issueCa('clients', validity)]);
  const names = { dns: ['localhost'], ips: ['127.0.0.1'] };
  const pair = await issue(serving, { use: 'server', commonName: 'apiserver', names }, validity);
  await writeFile(join(directory, 'apiserver.crt'), pair.cert);
  await writeFile(join(directory, 'apiserver.key'), pair.key);
  await writeFile(join(directory, 'client-cert-auth-ca.crt'), clients.cert);
  await writeFile(join(directory, 'serving-ca.crt'), serving.cert);
  return clients;
}

const statusOf = (url: string): Promise<number> =>
  new Promise((resolve) => {
    const sent = request(url, { rejectUnauthorized: false, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', () => resolve(0));
    sent.end();
  });

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 60_000; !(await isTrue());) {
    assert.ok(performance.now() < end, 'not ready within a minute');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const apiServerFlags = (port: number, etcd: string, certDir: string): readonly string[] => [
  '--allow-privileged=true',
  '--authorization-mode=RBAC',
  '--bind-address=127.0.0.1',
  `--cert-dir=${certDir}`,
  `--client-ca-file=${join(certDir, 'client-cert-auth-ca.crt')}`,
  '--disable-admission-plugins=ServiceAccount',
  `--etcd-servers=${etcd}`,
  `--secure-port=${port}`,
  `--service-account-issuer=https://127.0.0.1:${port}/`,
  `--service-account-key-file=${join(certDir, 'sa-signer.crt')}`,
  `--service-account-signing-key-file=${join(certDir, 'sa-signer.key')}`,
  '--service-cluster-ip-range=10.0.0.0/24',
];

test('envtest starts, uses and stops an API server through the launchers', async () => {
  await using stack = new AsyncDisposableStack();
  const directory = stack.use(await temporaryDirectory()).path;
  const assets = join(directory, 'assets');
  const installed = await run(process.execPath, [fairlead, 'envtest', 'install', assets]);
  assert.deepEqual([installed.code, installed.err], [0, '']);
  assert.ok(installed.out.endsWith(`export KUBEBUILDER_ASSETS=${assets}\n`), installed.out);

  const help = await Promise.all(['etcd', 'kube-apiserver'].map((name) => run(join(assets, name), ['--help'])));
  assert.deepEqual(
    help.map(({ code }) => code),
    [0, 0],
  );
  assert.ok(help.every(({ out }) => !out.includes('unsafe-no-fsync') && !out.includes('insecure-port')));

  const [etcdPort, port] = await Promise.all([freePort(), freePort()]);
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const etcdFlags = [
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    '--listen-peer-urls=http://127.0.0.1:0',
    `--data-dir=${directory}/etcd`,
  ];
  const etcd = stack.use(start(join(assets, 'etcd'), etcdFlags));
  await until(async () => (await fetch(`${etcdUrl}/health`).catch(() => undefined))?.status === 200);

  const certDir = join(directory, 'certs');
  await mkdir(certDir);
  const clients = await writeCertificates(certDir);
  const server = stack.use(start(join(assets, 'kube-apiserver'), apiServerFlags(port, etcdUrl, certDir)));
  const url = `https://127.0.0.1:${port}`;
  await until(async () => (await statusOf(`${url}/healthz`)) === 200);

  const admin = await issue(clients, { use: 'client', commonName: 'admin', groups: ['system:masters'] }, validity);
  await writeFile(join(directory, 'admin.crt'), admin.cert);
  await writeFile(join(directory, 'admin.key'), admin.key);
  const [kubectl] = await findKubectls();
  const path = `${assets}:${join(kubectl?.path ?? '', '..')}:${process.env['PATH'] ?? ''}`;
  const access = [
    `--server=${url}`,
    `--certificate-authority=${join(certDir, 'serving-ca.crt')}`,
    `--client-certificate=${directory}/admin.crt`,
    `--client-key=${directory}/admin.key`,
  ];
  const call = (...args: readonly string[]) =>
    run(join(assets, 'kubectl'), [...access, ...args], { env: { PATH: path, KUBECONFIG: join(directory, 'none') } });
  const namespace = await call('get', 'namespace', 'default', '-o', 'name');
  assert.deepEqual([namespace.out, namespace.err], ['namespace/default\n', '']);
  assert.equal((await call('create', 'configmap', 'a')).out, 'configmap/a created\n');
  // As in envtest, no controllers fill or empty namespaces.
  await call('create', 'namespace', 'shop');
  await call('create', 'configmap', 'a', '-n', 'shop');
  await call('delete', 'namespace', 'shop', '--wait=false');
  const objects = await call('get', 'serviceaccounts,configmaps', '-n', 'shop', '-o', 'name');
  assert.equal(objects.out, 'configmap/a\n');
  assert.equal((await call('get', 'namespace', 'shop', '-o', 'jsonpath={.status.phase}')).out, 'Terminating');

  for (const each of [server, etcd]) {
    process.kill(each.pid, 'SIGTERM');
    assert.equal((await each.ended).code, 0);
  }
});

test('a launcher names the file that is missing, and keeps files that others wrote', async () => {
  await using stack = new AsyncDisposableStack();
  const directory = stack.use(await temporaryDirectory()).path;
  await writeFile(join(directory, 'etcd'), 'the real one');
  const refused = await run(process.execPath, [fairlead, 'envtest', 'install', directory]);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /etcd exists and is not a launcher of Fairlead: pass another directory or --overwrite/);
  assert.equal(await readFile(join(directory, 'etcd'), 'utf8'), 'the real one');
  const overwritten = await run(process.execPath, [fairlead, 'envtest', 'install', directory, '--overwrite']);
  assert.equal(overwritten.code, 0);
  const server = await run(
    join(directory, 'kube-apiserver'),
    apiServerFlags(await freePort(), 'http://127.0.0.1:1', directory),
  );
  assert.equal(server.code, 1);
  assert.match(server.err, /cannot read .*apiserver\.crt: /);
  const etcd = await run(join(directory, 'etcd'), ['--data-dir=/nowhere']);
  assert.deepEqual(
    [etcd.code, etcd.err],
    [2, 'etcd: --listen-client-urls is missing or not a URL: envtest passes it\n'],
  );
});
