// `fairlead multicluster` as a process, over two servers of which it knows only what the file of members says.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { serviceExportKind } from '../../src/api/kinds/multicluster/serviceexport/kind.ts';
import { serviceImportKind } from '../../src/api/kinds/multicluster/serviceimport/kind.ts';
import { Client } from '../../src/client/client.ts';
import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import { run } from '../harness/command.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { FairleadProcess, root } from '../harness/process.ts';
import { FairleadServer } from '../harness/server.ts';
import { eventually as until } from './set.ts';

const fairlead = (...args: readonly string[]) => run(process.execPath, [join(root, 'bin', 'fairlead.js'), ...args]);
const web = { namespace: 'shop', name: 'web' };

describe('fairlead multicluster alone', () => {
  const stack = new AsyncDisposableStack();
  let members: string;
  let controller: FairleadProcess;
  const clients = new Map<string, Client>();
  before(async () => {
    members = join(stack.use(await temporaryDirectory()).path, 'members.yaml');
    for (const id of ['east', 'west']) {
      const server = stack.use(await FairleadServer.start(['--store', 'memory']));
      const kubeconfig = join(server.directory, 'multicluster.kubeconfig');
      const made = await fairlead(
        'user',
        'add',
        'multicluster',
        '--part',
        '-o',
        kubeconfig,
        '--data-dir',
        server.directory,
      );
      assert.equal(made.code, 0, made.err);
      const client = stack.use(new Client(overHttps(await readKubeconfig({ paths: [server.kubeconfig] }))));
      const context = (await readKubeconfig({ paths: [kubeconfig] })).context;
      await client.create(namespaceKind, { metadata: { name: 'shop' }, spec: {}, status: {} });
      clients.set(id, client);
      const joined = await fairlead(
        'mcs',
        'join',
        context,
        '--id',
        id,
        '--kubeconfig',
        kubeconfig,
        '--members',
        members,
      );
      assert.equal(joined.code, 0, joined.err);
      if (id === 'west') {
        const flags = ['--members', members, '--kubeconfig', kubeconfig, '--health-port', '0'];
        controller = stack.use(new FairleadProcess(['multicluster', ...flags]));
        await controller.ready();
      }
    }
  });
  after(() => stack.disposeAsync());

  const client = (id: string): Client => clients.get(id) ?? assert.fail(id);

  test('MCS-42 an import has the address of a Service that a stock proxy serves', async () => {
    const east = client('east');
    await east.create(serviceKind, {
      metadata: web,
      spec: { ports: [{ name: 'http', port: 80 }] },
      status: { loadBalancer: {} },
    });
    await east.create(endpointSliceKind, {
      metadata: { namespace: 'shop', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.1.0.1'], conditions: { ready: true } }],
      ports: [{ name: 'http', port: 8080 }],
    });
    await east.create(serviceExportKind, { metadata: web, spec: {} });
    const west = client('west');
    await until('it has an address', async () => (await west.find(serviceImportKind, web))?.spec?.ips?.length === 1);
    const imported = await west.get(serviceImportKind, web);
    const name = imported.metadata.annotations?.['multicluster.kubernetes.io/derived-service'] ?? '';
    const derived = await west.get(serviceKind, { namespace: 'shop', name });
    assert.deepEqual(imported.spec?.ips, derived.spec.clusterIPs);
    const labelSelector = `kubernetes.io/service-name=${name}`;
    await until(
      'it has endpoints',
      async () => (await west.list(endpointSliceKind, { namespace: 'shop', labelSelector })).items.length === 1,
    );
    const ready = async (): Promise<boolean> =>
      (await east.get(serviceExportKind, web)).status?.conditions?.some(
        ({ type, status }) => type === 'Ready' && status === 'True',
      ) ?? false;
    await until('the export is told', ready);
  });

  test('mcs status, why and list tell how it stands', async () => {
    const status = await fairlead('mcs', 'status', '--members', members);
    assert.match(status.out, /^shop\/web +west +10\.\S+ +east +1\/1 +in sync$/m, status.err);
    const why = await fairlead(
      'mcs',
      'why',
      'shop/web',
      '--from',
      'west',
      '--zone',
      'clusterset',
      '--members',
      members,
    );
    assert.match(why.out, /nothing is wrong with shop\/web in west/, why.err);
    const list = await fairlead('mcs', 'list', '--members', members, '-o', 'json');
    const states = (JSON.parse(list.out) as { id: string; state: string }[]).map(({ id, state }) => [id, state]);
    assert.deepEqual(states, [
      ['east', 'ready'],
      ['west', 'ready'],
    ]);
  });

  test('MCS-2 mcs join refuses a cluster that is a member under another id', async () => {
    const kubeconfig = /kubeconfig: (\S+)/.exec((await run('cat', [members])).out)?.[1] ?? '';
    const path = join(members, '..', kubeconfig);
    const context = (await readKubeconfig({ paths: [path] })).context;
    const { code, err } = await fairlead(
      'mcs',
      'join',
      context,
      '--id',
      'again',
      '--kubeconfig',
      path,
      '--members',
      members,
    );
    assert.equal(code, 1);
    assert.match(err, /is the cluster that is a member as "east" already/);
  });

  test('mcs leave withdraws what a cluster exports, and what it imports, before it is taken from the file', async () => {
    const left = await fairlead('mcs', 'leave', 'east', '--members', members, '--timeout', '30s');
    assert.equal(left.code, 0, left.err);
    await until('nothing of it is left', async () => (await client('west').find(serviceImportKind, web)) === undefined);
    assert.equal(await client('east').find(serviceImportKind, web), undefined);
    const { metadata } = await client('east').get(serviceExportKind, web);
    assert.deepEqual(metadata.finalizers ?? [], [], 'its exports can be deleted without the controller');
    assert.doesNotMatch((await run('cat', [members])).out, /east/);
  });
});
