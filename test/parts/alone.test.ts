// `fairlead controllers` as a separate process with the rights of its role.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { configMapKind } from '../../src/api/kinds/core/configmap/kind.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { Client } from '../../src/client/client.ts';
import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import { FairleadServer } from '../harness/server.ts';
import { askHealth, controllersKubeconfig, startControllers } from './controllers-process.ts';
import { createReadyPod, createService } from './workload.ts';

const namespace = 'default';

describe('fairlead controllers', () => {
  const stack = new AsyncDisposableStack();
  let server: FairleadServer;
  let kubeconfig = '';
  let client: Client;
  before(async () => {
    server = stack.use(await FairleadServer.start());
    kubeconfig = await controllersKubeconfig(server.directory);
    client = stack.use(new Client(overHttps(await readKubeconfig({ paths: [server.kubeconfig] }))));
  });
  after(() => stack.disposeAsync());

  const slicesOf = async (name: string): Promise<number> =>
    (await client.list(endpointSliceKind, { namespace, labelSelector: `kubernetes.io/service-name=${name}` })).items
      .length;

  test('works with the rights of its role, and exits with 0 after SIGTERM', async () => {
    await using part = startControllers(kubeconfig, ['--log-level', 'debug']);
    await part.ready();
    assert.deepEqual(await askHealth(part, '/readyz'), { status: 200, text: 'ok' });
    await createService(client, 'role');
    await createReadyPod(client, 'role', 'role-1', '192.0.2.1');
    const owner = await client.create(configMapKind, { metadata: { namespace, name: 'owner' } });
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid ?? '' }];
    await client.create(configMapKind, { metadata: { namespace, name: 'owned', ownerReferences } });
    await until('a slice', async () => (await slicesOf('role')) === 1);
    await client.delete(configMapKind, owner.metadata as { name: string });
    await client.delete(serviceKind, { namespace, name: 'role' });
    await until('the dependents are deleted', async () => {
      const owned = await client.find(configMapKind, { namespace, name: 'owned' });
      return owned === undefined && (await slicesOf('role')) === 0;
    });

    const { text } = await askHealth(part, '/metrics');
    assert.match(text, /^rest_client_requests_total\{code="201",method="POST",host="[^"]+"\} [1-9]/m);
    assert.doesNotMatch(text, /^rest_client_requests_total\{code="40[13]"/m);
    assert.match(text, /^process_resident_memory_bytes /m);
    assert.doesNotMatch(part.err, /forbidden/i);
    await part.stop('SIGTERM');
  });

  test('waits for an unreachable server and reports it', async () => {
    await server.stop('SIGTERM');
    await using part = startControllers(kubeconfig);
    const why = new RegExp(`requests to the API server ${server.url} fail: connect ECONNREFUSED`);
    await until('/readyz reports the error', async () => why.test((await askHealth(part, '/readyz')).text));
    assert.equal((await askHealth(part, '/readyz')).status, 503);
    assert.deepEqual(await askHealth(part, '/livez'), { status: 200, text: 'ok' });
    assert.match(part.err, /"msg":"requests to the API server fail, retrying"/);
    assert.doesNotMatch(part.out, /ready in/);

    await server.start();
    await part.ready();
    await createService(client, 'late');
    await until('a slice', async () => (await slicesOf('late')) === 1);
    await part.stop('SIGTERM');
  });

  test('can be stopped while it waits', async () => {
    await server.stop('SIGTERM');
    await using part = startControllers(kubeconfig);
    await askHealth(part, '/livez');
    await part.stop('SIGTERM');
    assert.doesNotMatch(part.out, /ready in/);
    await server.start();
  });

  test('survives a restart of the server', async () => {
    await using part = startControllers(kubeconfig);
    await part.ready();
    await server.stop('SIGKILL');
    await until('/readyz reports the error', async () => (await askHealth(part, '/readyz')).status === 503);
    await server.start();
    await createService(client, 'again');
    await until('a slice', async () => (await slicesOf('again')) === 1);
    const warnings = part.err.split('\n').filter((line) => line.includes('"level":40'));
    assert.ok(warnings.length < 5, `it is logged once, not by every watch: ${part.err}`);
    assert.match((await askHealth(part, '/metrics')).text, /^fairlead_part_restarts\{part="controllers"\} 0$/m);
    await part.stop('SIGTERM');
  });
});
