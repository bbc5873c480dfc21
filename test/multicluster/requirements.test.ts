// What KEP-1645 asks for, one cluster set at a time.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { clusterPropertyKind } from '../../src/api/kinds/about/clusterproperty/kind.ts';
import { failure } from '../../src/api/errors.ts';
import { leaseKind } from '../../src/api/kinds/coordination/lease/kind.ts';
import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { Vips } from '../../src/multicluster/member/vips.ts';
import type { MulticlusterOptions } from '../../src/multicluster/multicluster.ts';
import { until } from '../../src/server/testing/until.ts';
import type { Cluster, Joined } from './clusters.ts';
import { entryOf, join, startClusters } from './clusters.ts';

const web = { namespace: 'shop', name: 'web' };

async function joined(
  stack: AsyncDisposableStack,
  options: Partial<MulticlusterOptions> = {},
): Promise<{ readonly east: Cluster; readonly west: Cluster } & Joined> {
  const [east, west] = await startClusters(['east', 'west'], stack);
  assert.ok(east && west);
  const started = join([east, west], stack, options);
  await started.part.ready;
  return { east, west, ...started };
}

const reasonOf = async (cluster: Cluster, type: string): Promise<string | undefined> =>
  (await cluster.client.find(superclusterExportKind, web))?.status?.conditions?.find((each) => each.type === type)
    ?.reason;

const writesOf = (cluster: Cluster): number => cluster.writes.filter(({ path }) => !path.includes('/leases')).length;

describe('exports', () => {
  test('MCS-25 MCS-26 an export waits for its Service, and is withdrawn with it', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack);
    await east.export('web');
    await until('it says why', async () => (await reasonOf(east, 'Initialized')) === 'NoService');
    await east.service('web', ['10.1.0.1']);
    await until('it is taken up', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    assert.equal((await west.imported('web')).length, 1);
    await west.service('web', ['10.2.0.1']);
    await west.export('web');
    await until('both take part', async () => Object.keys(await east.addresses('web')).length === 2);
    await east.client.delete(serviceKind, web);
    await until('its endpoints go', async () => Object.keys(await west.addresses('web')).join() === 'west');
    await until('and it says why', async () => (await reasonOf(east, 'Initialized')) === 'NoService');
  });

  test('MCS-93 MCS-163 EXT-9 ExternalName is refused until it is something else', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack);
    const spec = { type: 'ExternalName' as const, externalName: 'example.org' };
    await east.client.create(serviceKind, { metadata: web, spec, status: { loadBalancer: {} } });
    await east.export('web');
    await until('it says why', async () => (await reasonOf(east, 'Initialized')) === 'InvalidServiceType');
    assert.equal(await west.importedService('web'), undefined);
    const patch = { spec: { type: 'ClusterIP', externalName: null, ports: [{ name: 'http', port: 80 }] } };
    await east.client.patch(serviceKind, web, { body: patch });
    await until('it is imported', async () => (await west.importedService('web')) !== undefined);
  });

  test('MCS-21 the export stays until it is withdrawn everywhere, but for clusters that are away', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack);
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('it is imported', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    const { finalizers } = (await east.client.get(superclusterExportKind, web)).metadata;
    assert.deepEqual(finalizers, ['fairlead.dev/multicluster-export']);
    await until('its endpoints are there', async () => (await west.addresses('web'))['east'] !== undefined);
    west.fault = ({ method, path }) => {
      if (method === 'DELETE' && path.includes('endpointslices'))
        throw failure({ code: 503, reason: 'x', message: 'busy' });
    };
    await east.unexport('web');
    await delay(200);
    assert.ok(await east.client.find(superclusterExportKind, web), 'it waits');
    west.reconnect();
    await until('it goes', async () => (await east.client.find(superclusterExportKind, web)) === undefined);
    assert.deepEqual(await west.imported('web'), []);
  });

  test('MCS-13 MCS-52 a Service that is not exported takes no part, and MCS-7 Services stay as they are', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack);
    await west.service('web', ['10.2.0.1']);
    await east.service('web', ['10.1.0.1']);
    const own = { namespace: 'shop', labelSelector: 'kubernetes.io/service-name=web' };
    const state = async (): Promise<unknown> =>
      Promise.all(
        [east, west].map(async ({ client }) => [
          await client.get(serviceKind, web),
          (await client.list(endpointSliceKind, own)).items,
        ]),
      );
    const before = await state();
    await east.export('web');
    await until('it is imported', async () => (await west.imported('web')).length === 1);
    assert.deepEqual(await west.addresses('web'), { east: ['10.1.0.1'] });
    assert.deepEqual(await state(), before);
  });

  test('MCS-109 a cluster imports once it has the namespace', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack);
    await west.client.delete(namespaceKind, { name: 'shop' });
    await until('it is gone', async () => (await west.client.find(namespaceKind, { name: 'shop' })) === undefined);
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('nothing is missing', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    assert.equal(await west.importedService('web'), undefined);
    await west.namespace('shop');
    await until('it follows', async () => (await west.imported('web')).length === 1);
  });
});

describe('conflicts', () => {
  test('MCS-121 MCS-122 MCS-123 MCS-124 MCS-136 withdraw the seed view everywhere, and back', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack);
    await east.service('web', ['10.1.0.1']);
    await west.service('web', ['10.2.0.1'], { ports: [{ name: 'http', port: 81, protocol: 'TCP' }] });
    await east.export('web');
    await until('it is imported', async () => (await west.importedService('web')) !== undefined);
    const { ip } = (await west.importedService('web'))?.spec ?? {};
    await west.export('web');
    for (const cluster of [east, west]) {
      await until('it is withdrawn', async () => (await cluster.importedService('web')) === undefined);
      await until('both are told', async () => (await cluster.conditions('web', 'seed'))['Conflict'] === 'True');
      assert.equal((await cluster.serviceImport('web'))?.spec?.ports?.[0]?.port, 80, 'the oldest wins there');
    }
    const patch = { spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] } };
    await west.client.patch(serviceKind, web, { body: patch });
    await until('it is back', async () => (await west.importedService('web'))?.spec?.ip === ip);
    await until('with all', async () => Object.keys(await east.addresses('web')).length === 2);
    await until('and well', async () => (await west.conditions('web', 'seed'))['Conflict'] === 'False');
  });
});

describe('addresses', () => {
  test('MCS-44 an address outlives the controller', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west] = await startClusters(['east', 'west'], stack);
    assert.ok(east && west);
    const first = stack.use(new AsyncDisposableStack());
    join([east, west], first);
    for (const name of ['a', 'b', 'c']) {
      await east.service(name, ['10.1.0.1']);
      await east.export(name);
    }
    const ips = async (): Promise<unknown> =>
      Promise.all(['a', 'b', 'c'].map(async (name) => (await west.importedService(name))?.spec?.ip ?? assert.fail()));
    await until('all are there', async () => (await ips().catch(() => undefined)) !== undefined);
    const before = await ips();
    await first.disposeAsync();
    join([east, west], stack);
    await east.service('d', ['10.1.0.1']);
    await east.export('d');
    await until('a new one comes', async () => (await west.importedService('d')) !== undefined);
    assert.deepEqual(await ips(), before);
  });

  test('MCS-45 a full pool is told, and the next service gets what is freed', async () => {
    await using stack = new AsyncDisposableStack();
    const [east] = await startClusters(['east'], stack);
    assert.ok(east);
    const vips = new Vips(['241.0.0.0/31']);
    join([east], stack, { members: (change) => change([{ ...entryOf(east, 0), vips }]) });
    for (const name of ['a', 'b', 'web']) {
      await east.service(name, ['10.1.0.1']);
      await east.export(name);
    }
    await until('one has none', async () => (await reasonOf(east, 'Initialized')) === 'NoFreeAddress');
    assert.equal(await east.importedService('web'), undefined);
    await east.unexport('a');
    await until('now it has', async () => (await east.importedService('web')) !== undefined);
    await until('and says so', async () => (await reasonOf(east, 'Initialized')) === 'Initialized');
  });

  test('MCS-41 one address can be for all clusters', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west'], stack);
    const [east, west] = clusters;
    assert.ok(east && west);
    const vips = new Vips(['241.0.0.0/24']);
    join(clusters, stack, {
      members: (change) => change(clusters.map((each, index) => ({ ...entryOf(each, index), vips }))),
    });
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until(
      'both have it',
      async () => ((await east.importedService('web')) && (await west.importedService('web'))) !== undefined,
    );
    assert.equal((await east.importedService('web'))?.spec?.ip, (await west.importedService('web'))?.spec?.ip);
  });
});

describe('what it costs', () => {
  test('an endpoint that changes is one write in each cluster, and rest is rest', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack);
    for (const name of ['web', 'other']) {
      await east.service(name, ['10.1.0.1']);
      await east.export(name);
    }
    await until('it is complete', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    await delay(200);
    const before = [writesOf(east), writesOf(west)];
    for (let last = 2; last <= 6; last++) {
      await east.slice('web', [`10.1.0.${last}`]);
      await until('it arrives', async () => (await west.addresses('web'))['east']?.[0] === `10.1.0.${last}`);
      await delay(40);
    }
    await delay(100);
    assert.deepEqual(
      [writesOf(east), writesOf(west)].map((count, index) => count - (before[index] ?? 0)),
      [5, 5],
    );
  });

  test('a controller that begins anew writes nothing', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west'], stack);
    const [east, west] = clusters;
    assert.ok(east && west);
    for (const name of ['web', 'other']) {
      await east.service(name, ['10.1.0.1']);
      await east.export(name);
    }
    const first = stack.use(new AsyncDisposableStack());
    join(clusters, first);
    await until('it is complete', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    await delay(200);
    await first.disposeAsync();
    const before = [writesOf(east), writesOf(west)];
    const { part } = join(clusters, stack);
    await part.ready;
    await delay(500);
    assert.deepEqual([writesOf(east), writesOf(west)], before);
  });

  test('a cluster that is silent for a moment changes nothing', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack);
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('it is complete', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    await delay(200);
    const before = [writesOf(east), writesOf(west)];
    west.disconnect();
    await delay(300);
    west.reconnect();
    await delay(500);
    assert.deepEqual([writesOf(east), writesOf(west)], before);
    await east.slice('web', ['10.1.0.2']);
    await until('and it goes on', async () => (await west.addresses('web'))['east']?.[0] === '10.1.0.2');
  });

  test('a source that seems to lose most of what it had at once is waited for (sheet 5.6)', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, part } = await joined(stack, { brake: { least: 5, holdMs: 600 } });
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    for (const name of names) {
      await east.service(name, ['10.1.0.1']);
      await east.export(name, ['current']);
    }
    const count = async (): Promise<number> =>
      (
        await west.client.list(endpointSliceKind, {
          namespace: 'shop',
          labelSelector: 'multicluster.kubernetes.io/source-cluster=east',
        })
      ).items.length;
    await until('all are there', async () => (await count()) === names.length);
    await Promise.all(
      names.map((name) => east.client.delete(endpointSliceKind, { namespace: 'shop', name: `${name}-abc` })),
    );
    await until('it holds', () => part.problems().some((problem) => problem.startsWith('too much of east')));
    assert.ok((await count()) >= names.length / 2 - 1);
    await until('and goes on', async () => (await count()) === 0);
  });
});

describe('members', () => {
  test('MCS-3 a cluster says which one of the set it is', async () => {
    await using stack = new AsyncDisposableStack();
    const { west } = await joined(stack);
    const value = async (name: string): Promise<string | undefined> =>
      (await west.client.find(clusterPropertyKind, { name }))?.spec?.value;
    await until('it does', async () => (await value('clusterset.k8s.io')) === 'fairlead');
    assert.equal(await value('cluster.clusterset.k8s.io'), 'west');
  });

  test('MCS-3 a cluster that says it is another takes no part', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west] = await startClusters(['east', 'west'], stack);
    assert.ok(east && west);
    await west.client.create(clusterPropertyKind, {
      metadata: { name: 'cluster.clusterset.k8s.io' },
      spec: { value: 'north' },
    });
    const { part } = join([east, west], stack);
    await until('it is told', () =>
      part.problems().some((problem) => problem.startsWith('cluster west says that it is north')),
    );
  });

  test('what is beyond the quota of a member, or its namespaces, is told and takes no part (sheet 5.7)', async () => {
    await using stack = new AsyncDisposableStack();
    const [east] = await startClusters(['east'], stack);
    assert.ok(east);
    await east.service('old', ['10.1.0.1']);
    await east.export('old');
    await delay(1100); // ages are whole seconds
    const policy = { maxExports: 1 };
    join([east], stack, { members: (change) => change([{ ...entryOf(east, 0), policy }]) });
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('it is told', async () => (await reasonOf(east, 'Initialized')) === 'QuotaExceeded');
    assert.ok(await east.importedService('old'));
    assert.equal(await east.importedService('web'), undefined);
    await delay(1000);
    await east.unexport('old');
    await until('it takes its place', async () => (await east.importedService('web')) !== undefined);
  });

  test('a cluster that comes under the id of another is refused, by the next controller too (sheet 5.8)', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west, other] = await startClusters(['east', 'west', 'other'], stack);
    assert.ok(east && west && other);
    const first = stack.use(new AsyncDisposableStack());
    join([east, west], first);
    await west.service('web', ['10.2.0.1']);
    await west.export('web');
    const leased = { namespace: 'kube-system', name: 'multicluster-source-west' };
    await until('it is known', async () => (await east.client.find(leaseKind, leased)) !== undefined);
    await until('it is imported', async () => (await east.imported('web')).length === 1);
    await first.disposeAsync();
    const entries = [entryOf(east, 0), { ...entryOf(other, 1), id: 'west' }];
    const { part } = join([east], stack, { members: (change) => change(entries) });
    const isTold = (): boolean => part.problems().some((problem) => problem.includes('behind id west is another'));
    await until('it is told', isTold);
    assert.deepEqual(await east.addresses('web'), { west: ['10.2.0.1'] }, "what came from the old one is the reaper's");
  });

  test('a member whose settings change goes on, and nothing of it goes meanwhile', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west] = await startClusters(['east', 'west'], stack);
    assert.ok(east && west);
    await west.service('web', ['10.2.0.1']);
    await west.export('web');
    let change: (region: string) => void = () => undefined;
    const vips = [new Vips(['241.0.0.0/24']), new Vips(['241.1.0.0/24'])];
    const { part } = join([east, west], stack, {
      members(tell) {
        change = (region) =>
          tell(
            [east, west].map((each, index) => ({
              ...entryOf(each, index),
              vips: vips[index],
              region,
              version: region,
            })),
          );
        change('here');
      },
    });
    await part.ready;
    const regions = async (): Promise<string> =>
      (await east.imported('web')).map(({ metadata }) => metadata.annotations?.['fairlead.dev/region']).join();
    await until('it is imported', async () => (await regions()) === 'here');
    await until('and told', async () => (await reasonOf(west, 'Exported')) === 'Exported');
    const deletions = (): number =>
      [east, west].flatMap(({ writes }) => writes).filter(({ method }) => method === 'DELETE').length;
    change('there');
    await until('it follows', async () => (await regions()) === 'there');
    assert.equal(deletions(), 0);
    assert.deepEqual(part.problems(), []);
  });

  test('one cluster under two ids takes part once', async () => {
    await using stack = new AsyncDisposableStack();
    const [east] = await startClusters(['east'], stack);
    assert.ok(east);
    const twin = { ...entryOf(east, 1), id: 'twin' };
    const { part } = join([east], stack, { members: (change) => change([entryOf(east, 0), twin]) });
    await until('it is told', () =>
      part.problems().some((problem) => problem === 'east and twin are one cluster: remove one of them'),
    );
  });

  test('a cluster that serves one shape alone takes part in that', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, stock] = await startClusters(['east', 'stock'], stack);
    assert.ok(east && stock);
    stock.fault = ({ path }) => {
      if (path.startsWith('/apis/multicluster.k8s.io'))
        throw failure({ code: 404, reason: 'NotFound', message: 'not here' });
    };
    const { part } = join([east, stock], stack);
    await part.ready;
    await stock.service('web', ['10.2.0.1']);
    await stock.export('web', ['current']);
    await until('it is imported', async () => (await east.importedService('web')) !== undefined);
    await until('in the other too', async () => (await stock.imported('web')).length === 1);
    assert.equal(await stock.importedService('web'), undefined);
    assert.deepEqual(part.problems(), []);
  });
});
