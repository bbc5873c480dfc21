// Credentials are replaced while they are in use: no restart, and no missed event.

import assert from 'node:assert/strict';
import { copyFile, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { configMapKind } from '../../src/api/kinds/core/configmap/kind.ts';
import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { serviceExportKind } from '../../src/api/kinds/multicluster/serviceexport/kind.ts';
import { serviceImportKind } from '../../src/api/kinds/multicluster/serviceimport/kind.ts';
import { Client } from '../../src/client/client.ts';
import { overHttps } from '../../src/client/https.ts';
import { Informer } from '../../src/client/informer.ts';
import { ManualClock } from '../../src/client/testing/clocks.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import type { Transport } from '../../src/client/transport.ts';
import { hasStatusCode } from '../../src/client/transport.ts';
import { run } from '../harness/command.ts';
import { FairleadProcess, root } from '../harness/process.ts';
import { FairleadServer } from '../harness/server.ts';

const open = async (kubeconfig: string): Promise<Transport> => overHttps(await readKubeconfig({ paths: [kubeconfig] }));

/** Whether the credentials of a kubeconfig are rejected. */
async function isRefused(kubeconfig: string): Promise<boolean> {
  using client = new Client(await open(kubeconfig));
  return client.get(namespaceKind, { name: 'shop' }).then(
    () => false,
    (error: unknown) => hasStatusCode(error, 401),
  );
}

describe('credentials are replaced without a restart', () => {
  const stack = new AsyncDisposableStack();
  let server: FairleadServer;
  let transport: Transport;
  let admin: Client;
  const at = (name: string): string => join(server.directory, name);
  const post = async (path: string, body: object): Promise<string> => {
    const answer = await transport.request({ method: 'POST', path, body: JSON.stringify(body) });
    assert.equal(answer.status, 201, answer.body);
    return answer.body;
  };
  before(async () => {
    server = stack.use(await FairleadServer.start(['--store', 'memory']));
    transport = stack.use(await open(server.kubeconfig));
    admin = new Client(transport);
    await admin.create(namespaceKind, { metadata: { name: 'shop' }, spec: {}, status: {} });
  });
  after(() => stack.disposeAsync());

  test('the token of a member is replaced, and then revoked', async () => {
    const accounts = '/api/v1/namespaces/shop/serviceaccounts';
    const apiGroup = 'rbac.authorization.k8s.io';
    await post(`/apis/${apiGroup}/v1/clusterrolebindings`, {
      metadata: { name: 'rotation' },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup, kind: 'Group', name: 'system:serviceaccounts:shop' }],
    });
    const { ca = '' } = await readKubeconfig({ paths: [server.kubeconfig] });
    const write = async (account: string, path: string): Promise<void> => {
      await post(accounts, { metadata: { name: account } });
      const { status } = JSON.parse(await post(`${accounts}/${account}/token`, {}));
      const cluster = { server: server.url, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
      const config = {
        'current-context': 'a',
        contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
        clusters: [{ name: 'a', cluster }],
        users: [{ name: 'a', user: { token: status.token } }],
      };
      await writeFile(path, JSON.stringify(config));
    };
    const [used, old, members] = [at('token.kubeconfig'), at('old-token.kubeconfig'), at('members.yaml')];
    await write('first', used);
    await copyFile(used, old);
    await writeFile(members, `members: [{ id: east, kubeconfig: ${used} }]`);
    const flags = ['--members', members, '--kubeconfig', used, '--health-port', '0'];
    await using controller = new FairleadProcess(['multicluster', ...flags]);
    await controller.ready();
    await write('second', used);
    await transport.request({ method: 'DELETE', path: `${accounts}/first` });
    await until('the old token is rejected', () => isRefused(old));
    const metadata = { namespace: 'shop', name: 'web' };
    await admin.create(serviceKind, { metadata, spec: { ports: [{ port: 80 }] }, status: { loadBalancer: {} } });
    await admin.create(serviceExportKind, { metadata, spec: {} });
    await until(
      'the controller writes with the new token',
      async () => (await admin.find(serviceImportKind, metadata)) !== undefined,
    );
  });

  test('an expiring certificate is replaced', async () => {
    const [used, old] = [at('certificate.kubeconfig'), at('old-certificate.kubeconfig')];
    const add = async (path: string, expires: string): Promise<void> => {
      const flags = ['--group', 'system:masters', '--expires', expires, '-o', path, '--data-dir', server.directory];
      const { code, err } = await run(process.execPath, [join(root, 'bin/fairlead.js'), 'user', 'add', 'me', ...flags]);
      assert.equal(code, 0, err);
    };
    await add(at('next.kubeconfig'), '1h');
    await add(old, '4s');
    await copyFile(old, used);
    using client = new Client(await open(used));
    const informer = new Informer(client, configMapKind, { namespace: 'shop' });
    const added: string[] = [];
    informer.subscribe({ added: ({ metadata }) => added.push(metadata.name ?? '') });
    const stop = new AbortController();
    const running = informer.run(stop.signal);
    await using end = new AsyncDisposableStack();
    end.defer(async () => {
      stop.abort();
      await running;
    });
    await informer.synced(AbortSignal.timeout(5000));
    const keyOf = async (path: string): Promise<string> => {
      const { credentials } = await readKubeconfig({ paths: [path] });
      return Buffer.from((await credentials(false)).key ?? '').toString('base64');
    };
    const next = await readFile(at('next.kubeconfig'), 'utf8');
    await writeFile(used, next.replace(await keyOf(at('next.kubeconfig')), await keyOf(old)));
    await until('the old certificate is rejected', () => isRefused(old));
    const news = { namespace: 'shop', name: 'news' };
    await assert.rejects(
      client.find(configMapKind, news),
      (error) => hasStatusCode(error, 401),
      'the key has not been written yet',
    );
    await rename(at('next.kubeconfig'), used);
    await client.create(configMapKind, { metadata: news });
    await until('the watch delivers a new event', async () => added.includes('news'));
    assert.equal(new Set(added).size, added.length, 'nothing is delivered twice');
  });

  test('the authority of a server is replaced', async () => {
    await using own = await FairleadServer.start(['--store', 'memory']);
    const clock = new ManualClock();
    using client = new Client(overHttps(await readKubeconfig({ paths: [own.kubeconfig], clock })));
    const system = { name: 'kube-system' };
    await client.get(namespaceKind, system);
    await own.stop('SIGTERM');
    await rm(join(own.directory, 'pki'), { recursive: true });
    await own.start();
    await assert.rejects(client.get(namespaceKind, system), { code: 'SELF_SIGNED_CERT_IN_CHAIN' });
    await clock.advance(10_000);
    await client.get(namespaceKind, system);
  });
});
