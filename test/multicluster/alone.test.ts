// `fairlead multicluster` as a process for two servers, configured by a file of members only.

import assert from 'node:assert/strict';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { leaseKind } from '../../src/api/kinds/coordination/lease/kind.ts';
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

const fairlead = (...args: readonly string[]) => run(process.execPath, [join(root, 'bin', 'fairlead.js'), ...args]);
const web = { namespace: 'shop', name: 'web' };

/** A kubeconfig of a server that rejects connections. */
const unreachable = `apiVersion: v1
kind: Config
clusters: [{ name: away, cluster: { server: 'https://127.0.0.1:9' } }]
users: [{ name: away, user: { token: x } }]
contexts: [{ name: away, context: { cluster: away, user: away } }]
current-context: away
`;

describe('fairlead multicluster alone', () => {
  const stack = new AsyncDisposableStack();
  let members: string;
  let controller: FairleadProcess;
  const clients = new Map<string, Client>();
  const kubeconfigOf = new Map<string, string>();
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
      kubeconfigOf.set(id, kubeconfig);
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

  test('MCS-42 an import has the address of a Service that a stock proxy routes', async () => {
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
    await until(
      'the import has an address',
      async () => (await west.find(serviceImportKind, web))?.spec?.ips?.length === 1,
    );
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
    await until('the export reports success', ready);
  });

  test('mcs status, why and list show the state of the set', async () => {
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
    assert.match(why.out, /found no problem with shop\/web in west/, why.err);
    const list = await fairlead('mcs', 'list', '--members', members, '-o', 'json');
    const states = (JSON.parse(list.out) as { id: string; state: string }[]).map(({ id, state }) => [id, state]);
    assert.deepEqual(states, [
      ['east', 'ready'],
      ['west', 'ready'],
    ]);
  });

  test('mcs why without --from names the importing cluster', async () => {
    const why = await fairlead('mcs', 'why', 'shop/web', '--zone', 'clusterset', '--members', members);
    assert.match(why.out, /^checking cluster east; pass --from ID for another one$/m, why.err);
  });

  test('mcs status and list exit with 3 when a cluster cannot be read', async () => {
    const path = `${members}.away.yaml`;
    await writeFile(`${members}.kubeconfig`, unreachable);
    await writeFile(
      path,
      `${await readFile(members, 'utf8')}  - id: away\n    kubeconfig: ${basename(members)}.kubeconfig\n`,
    );
    for (const action of ['status', 'list']) {
      const { code, out } = await fairlead('mcs', action, '--members', path);
      assert.equal(code, 3, out);
      assert.match(out, /requests to cluster away fail: .*ECONNREFUSED/);
    }
  });

  test('MCS-2 mcs join rejects a cluster that is a member under another id', async () => {
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
    assert.match(err, /is the same cluster as the member "east"/);
  });

  test('mcs leave withdraws the exports and imports of a cluster before its entry is removed from the file', async () => {
    const left = await fairlead('mcs', 'leave', 'east', '--members', members, '--timeout', '30s');
    assert.equal(left.code, 0, left.err);
    await until(
      'all imports are withdrawn',
      async () => (await client('west').find(serviceImportKind, web)) === undefined,
    );
    assert.equal(await client('east').find(serviceImportKind, web), undefined);
    const { metadata, status } = await client('east').get(serviceExportKind, web);
    assert.deepEqual(metadata.finalizers ?? [], [], 'its exports can be deleted without the controller');
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    assert.deepEqual([ready?.status, ready?.reason], ['False', 'NotAMember']);
    assert.match(ready?.message ?? '', /^cluster east has left the cluster set/);
    assert.doesNotMatch((await run('cat', [members])).out, /east/);
  });

  test('mcs join stores the file of KUBECONFIG that has the context', async () => {
    await using directory = await temporaryDirectory();
    const file = join(directory.path, 'members.yaml');
    const path = join(directory.path, 'kubeconfigs', 'west');
    await mkdir(dirname(path));
    await copyFile(kubeconfigOf.get('west') ?? '', path);
    await writeFile(`${path}.other`, unreachable);
    const { context } = await readKubeconfig({ paths: [path] });
    const args = ['mcs', 'join', context, '--id', 'west', '--members', file];
    const env = { KUBECONFIG: `${path}.other:${path}` };
    const joined = await run(process.execPath, [join(root, 'bin', 'fairlead.js'), ...args], { env });
    assert.equal(joined.code, 0, joined.err);
    assert.match(await readFile(file, 'utf8'), /^ +kubeconfig: kubeconfigs\/west$/m);
    assert.match((await fairlead('mcs', 'list', '--members', file)).out, /^west +ready/m);
  });

  test('mcs join rejects an id whose Lease names another cluster, unless forced', async () => {
    const lease = { namespace: 'kube-system', name: 'multicluster-source-north' };
    const labels = {
      'app.kubernetes.io/managed-by': 'mcsd-controller.fairlead.dev',
      'multicluster.kubernetes.io/source-cluster': 'north',
    };
    await controller[Symbol.asyncDispose]();
    const annotations = { 'fairlead.dev/cluster-uid': 'another-uid' };
    await client('west').create(leaseKind, { metadata: { ...lease, labels, annotations }, spec: {} });
    await using north = await FairleadServer.start(['--store', 'memory']);
    const { context } = await readKubeconfig({ paths: [north.kubeconfig] });
    const flags = ['--id', 'north', '--kubeconfig', north.kubeconfig, '--members', members];
    const refused = await fairlead('mcs', 'join', context, ...flags);
    assert.equal(refused.code, 1, refused.out);
    assert.match(
      refused.err,
      /"west" still has a Lease of another cluster with the id "north" \(uid another-uid, not /,
    );
    const forced = await fairlead('mcs', 'join', context, ...flags, '--force');
    assert.equal(forced.code, 0, forced.err);
  });
});
