// A member over its limit, or whose server sends without end, is reported by name; other members are served.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join as joinPath } from 'node:path';
import { describe, test } from 'node:test';

import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { importedServiceKind } from '../../src/api/kinds/multicluster/supercluster/import.ts';
import { Client } from '../../src/client/client.ts';
import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import { hostileAnswers, hostileServer } from '../../src/client/testing/hostile-servers.ts';
import { until } from '../../src/server/testing/until.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { FairleadProcess } from '../harness/process.ts';
import { FairleadServer } from '../harness/server.ts';
import { join, startClusters } from './clusters.ts';

const web = { namespace: 'shop', name: 'web' };

test('a member over its limit is not read until it is below, and other members are served', async () => {
  await using stack = new AsyncDisposableStack();
  const [east, west, north] = await startClusters(['east', 'west', 'north'], stack);
  assert.ok(east && west && north);
  const { part, metrics } = join([east, west, north], stack, { memberLimit: { objects: 60, bytes: 1 << 20 } });
  await part.ready;
  await north.service('web', ['10.3.0.1']);
  await north.export('web');
  await until('the service of north is imported', async () => (await west.addresses('web'))['north'] !== undefined);

  const names = Array.from({ length: 80 }, (_, index) => `extra-${index}`);
  for (const name of names) await north.service(name, []);
  const problem =
    'cluster north is not read: the server sends more than 60 objects; raise the limit if the cluster is this large';
  await until('the member is reported', () => part.problems().includes(problem));
  const overLimit = async (): Promise<string> =>
    (await metrics.getSingleMetricAsString('fairlead_multicluster_member_over_limit')).replace(/^#.*\n/gm, '');
  assert.match(await overLimit(), /cluster="north"} 1$/m);
  assert.match(await overLimit(), /cluster="west"} 0$/m);
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('other members are served', async () => (await west.addresses('web'))['east'] !== undefined);
  assert.deepEqual((await west.addresses('web'))['north'], ['10.3.0.1'], 'what came from it stays');

  for (const name of names) {
    await north.client.delete(serviceKind, { namespace: 'shop', name });
    const labelSelector = `kubernetes.io/service-name=${name}`;
    const { items } = await north.client.list(endpointSliceKind, { namespace: 'shop', labelSelector });
    for (const { metadata } of items)
      await north.client.delete(endpointSliceKind, { namespace: 'shop', name: metadata.name ?? '' });
  }
  await until('the member is read again', async () => (await north.addresses('web'))['east'] !== undefined);
  assert.match(await overLimit(), /cluster="north"} 0$/m);
  assert.deepEqual(part.problems(), []);
});

describe('a member whose server sends objects without end', () => {
  test('is reported by name, uses bounded memory, and does not delay others', async () => {
    await using stack = new AsyncDisposableStack();
    const { path } = stack.use(await temporaryDirectory());
    const endless = hostileAnswers['initial events of a watch without an end'] ?? assert.fail();
    const hostile = stack.use(
      await hostileServer((request) => {
        const body = JSON.stringify({ metadata: { name: 'kube-system', uid: 'hostile', resourceVersion: '1' } });
        // It answers probes and discovery.
        const isProbe = /^GET \S*(\/namespaces\/kube-system|\/v1alpha1|\/v1beta1) /.test(request);
        return isProbe ? [`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`] : endless(request);
      }, Infinity),
    );
    const members: object[] = [];
    const clients: Client[] = [];
    for (const [index, id] of ['east', 'west'].entries()) {
      const server = stack.use(await FairleadServer.start(['--store', 'memory']));
      const client = stack.use(new Client(overHttps(await readKubeconfig({ paths: [server.kubeconfig] }))));
      await client.create(namespaceKind, { metadata: { name: 'shop' }, spec: {}, status: {} });
      clients.push(client);
      members.push({ id, kubeconfig: server.kubeconfig, superclusterCIDRs: [`241.${index}.0.0/16`] });
    }
    const kubeconfig = joinPath(path, 'hostile.kubeconfig');
    const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
    const cluster = { name: 'c', cluster: { server: hostile.url } };
    const users = [{ name: 'u', user: { token: 't' } }];
    await writeFile(kubeconfig, JSON.stringify({ 'current-context': 'c', clusters: [cluster], contexts, users }));
    const file = joinPath(path, 'members.yaml');
    await writeFile(file, JSON.stringify({ members: [...members, { id: 'hostile', kubeconfig }] }));

    const home = ['--kubeconfig', (members[0] as { kubeconfig: string }).kubeconfig, '--health-port', '0'];
    const controller = stack.use(
      new FairleadProcess(['multicluster', '--members', file, ...home, '--max-bytes-per-member', `${64 << 20}`]),
    );
    await controller.prints(/healthz|http:\/\//);
    await until('the member is reported', async () => /"cluster":"hostile".*over its limit/.test(controller.err));

    const [east, west] = clients;
    assert.ok(east && west);
    await east.create(serviceKind, {
      metadata: web,
      spec: { ports: [{ name: 'http', port: 80 }] },
      status: { loadBalancer: {} },
    });
    await east.create(superclusterExportKind, { metadata: web });
    await until('the service is imported', async () => (await west.find(importedServiceKind, web)) !== undefined);
    const mebibytes = Math.round((await controller.residentBytes()) / (1 << 20));
    assert.ok(mebibytes < 1024, `${mebibytes} MiB`);
    assert.equal(controller.err.match(/over its limit/g)?.length, 1, 'it is logged once');
  });
});
