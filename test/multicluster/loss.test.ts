// A server is killed; every component is a process of its own: its endpoints are deleted within the lease, and created again when it returns.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { writeFile } from 'node:fs/promises';

import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { importedServiceKind } from '../../src/api/kinds/multicluster/supercluster/import.ts';
import { Client } from '../../src/client/client.ts';
import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { FairleadProcess } from '../harness/process.ts';
import { FairleadServer } from '../harness/server.ts';

const web = { namespace: 'shop', name: 'web' };
const leaseMs = 3000;
/** Additional time on a busy machine. */
const busyMs = 10_000;

describe('a cluster whose server is killed', () => {
  const stack = new AsyncDisposableStack();
  const servers = new Map<string, FairleadServer>();
  const clients = new Map<string, Client>();
  before(async () => {
    const { path } = stack.use(await temporaryDirectory());
    const members: object[] = [];
    for (const [index, id] of ['east', 'west'].entries()) {
      const server = stack.use(await FairleadServer.start());
      const client = stack.use(new Client(overHttps(await readKubeconfig({ paths: [server.kubeconfig] }))));
      servers.set(id, server);
      clients.set(id, client);
      members.push({ id, kubeconfig: server.kubeconfig, superclusterCIDRs: [`241.${index}.0.0/16`] });
      await client.create(namespaceKind, { metadata: { name: 'shop' }, spec: {}, status: {} });
    }
    const file = join(path, 'members.yaml');
    await writeFile(file, JSON.stringify({ members }));
    const west = ['--kubeconfig', servers.get('west')?.kubeconfig ?? '', '--health-port', '0'];
    const lease = `${leaseMs / 1000}s`;
    const parts = [
      ['multicluster', '--members', file, ...west, '--source-lease-duration', lease, '--leader-elect=false'],
      ['reaper', ...west, '--lease-duration', lease],
    ].map((args) => stack.use(new FairleadProcess(args)));
    await Promise.all(parts.map((part) => part.ready()));
  });
  after(() => stack.disposeAsync());

  const client = (id: string): Client => clients.get(id) ?? assert.fail(id);
  const sources = async (): Promise<string> => {
    const labelSelector = 'multicluster.kubernetes.io/imported-service-name=web';
    const { items } = await client('west').list(endpointSliceKind, { namespace: 'shop', labelSelector });
    return items
      .map(({ metadata }) => metadata.labels?.['multicluster.kubernetes.io/source-cluster'] ?? '')
      .toSorted()
      .join();
  };
  const until = async (wanted: string, withinMs: number): Promise<void> => {
    const started = performance.now();
    while ((await sources()) !== wanted) {
      const tookMs = performance.now() - started;
      assert.ok(tookMs < withinMs, `${await sources()} and not ${wanted} after ${Math.round(tookMs)} ms`);
      await delay(50);
    }
  };

  test('MCS-82 MCS-83 MCS-84 MCS-86 MCS-143 its endpoints are deleted within the lease and 2 s, and created again', async () => {
    for (const [index, id] of ['east', 'west'].entries()) {
      const spec = { ports: [{ name: 'http', port: 80 }] };
      await client(id).create(serviceKind, { metadata: web, spec, status: { loadBalancer: {} } });
      await client(id).create(endpointSliceKind, {
        metadata: { namespace: 'shop', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: [`10.1.0.${index + 1}`], conditions: { ready: true } }],
        ports: [{ name: 'http', port: 8080 }],
      });
      await client(id).create(superclusterExportKind, { metadata: web });
    }
    await until('east,west', 20_000 + busyMs);
    const { spec } = await client('west').get(importedServiceKind, web);
    await servers.get('east')?.stop('SIGKILL');
    await until('west', leaseMs + 2000 + busyMs);
    assert.deepEqual((await client('west').get(importedServiceKind, web)).spec, spec, 'MCS-85 the import stays');
    await servers.get('east')?.start();
    await until('east,west', 10_000 + busyMs);
    assert.deepEqual((await client('west').get(importedServiceKind, web)).spec, spec);
  });
});
