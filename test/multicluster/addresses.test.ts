// Addresses of imported services: allocation, release and reuse, and endpoints within addresses of other members.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { eventKind } from '../../src/api/kinds/core/event/kind.ts';
import { serviceExportKind } from '../../src/api/kinds/multicluster/serviceexport/kind.ts';
import { endpointRangesOf } from '../../src/multicluster/guard/policy.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { serviceCidrKind } from '../../src/api/kinds/networking/servicecidr/kind.ts';
import { Vips } from '../../src/multicluster/member/vips.ts';
import type { MemberEntry } from '../../src/multicluster/member/entry.ts';
import { until } from '../../src/server/testing/until.ts';
import type { Cluster } from './clusters.ts';
import { entryOf, join, joinSharing, startClusters } from './clusters.ts';
import { reasonOf } from './pair.ts';

describe('addresses', () => {
  test('MCS-44 an address survives a restart of the controller', async () => {
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
    await until('all services have an address', async () => (await ips().catch(() => undefined)) !== undefined);
    const before = await ips();
    await first.disposeAsync();
    join([east, west], stack);
    await east.service('d', ['10.1.0.1']);
    await east.export('d');
    await until('a new service is imported', async () => (await west.importedService('d')) !== undefined);
    assert.deepEqual(await ips(), before);
  });

  test('MCS-45 a full pool is reported on the export, and the next service gets a released address', async () => {
    await using stack = new AsyncDisposableStack();
    const [east] = await startClusters(['east'], stack);
    assert.ok(east);
    const vips = new Vips(['241.0.0.0/31']);
    join([east], stack, { members: (change) => change([{ ...entryOf(east, 0), vips }]) });
    for (const name of ['a', 'b']) {
      await east.service(name, ['10.1.0.1']);
      await east.export(name);
      await until('the service has an address', async () => (await east.importedService(name)) !== undefined);
    }
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('the next service has none', async () => (await reasonOf(east, 'Initialized')) === 'NoFreeAddress');
    assert.equal(await east.importedService('web'), undefined);
    await east.unexport('a');
    await until('the next service has an address', async () => (await east.importedService('web')) !== undefined);
    await until('its export reports it', async () => (await reasonOf(east, 'Initialized')) === 'Initialized');
  });

  test('MCS-41 a service can have one address in all clusters', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west'], stack);
    const [east, west] = clusters;
    assert.ok(east && west);
    joinSharing(clusters, new Vips(['241.0.0.0/24']), stack);
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until(
      'both have it',
      async () => ((await east.importedService('web')) && (await west.importedService('web'))) !== undefined,
    );
    assert.equal((await east.importedService('web'))?.spec?.ip, (await west.importedService('web'))?.spec?.ip);
  });

  test('MCS-45 a released address of all clusters goes to the next service in all of them', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west', 'north'], stack);
    const [east] = clusters;
    assert.ok(east);
    await joinSharing(clusters, new Vips(['241.0.0.1/32']), stack).part.ready;
    const haveAll = async (name: string): Promise<boolean> =>
      (await Promise.all(clusters.map((each) => each.importedService(name)))).every((each) => each !== undefined);
    await east.service('a', ['10.1.0.1']);
    await east.export('a');
    await until('all clusters have the first service', () => haveAll('a'));
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until(
      'the next service has no address',
      async () => (await reasonOf(east, 'Initialized')) === 'NoFreeAddress',
    );
    await east.unexport('a');
    await until('all clusters have the next service', () => haveAll('web'));
  });

  test('MCS-44 an address is released once every cluster that may use it has been read or has left the set', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west', 'north'], stack);
    const [east, west, north] = clusters;
    assert.ok(east && west && north);
    north.disconnect();
    let change: (entries: readonly MemberEntry[]) => void = () => undefined;
    const vips = new Vips(['241.0.0.1/32']);
    const entries = clusters.map((each, index) => ({ ...entryOf(each, index), vips }));
    const members = (update: typeof change): void => (change = update)(entries);
    const { part } = join(clusters, stack, { members });
    await part.ready;
    const names = ['a', 'b', 'c'];
    for (const name of names) await east.service(name, ['10.1.0.1']);
    const hasAddress = async (name: string): Promise<boolean> =>
      (await west.importedService(name))?.spec?.ip === '241.0.0.1';
    const withdraw = async (name: string): Promise<void> => {
      await east.unexport(name);
      await until(
        'its export is gone',
        async () => (await east.client.find(serviceExportKind, { namespace: 'shop', name })) === undefined,
      );
    };
    await east.export('a');
    await until('the first service has an address', () => hasAddress('a'));
    await withdraw('a');
    north.reconnect();
    await until('north is read', () => part.problems().length === 0);
    await east.export('b');
    await until('the next service has an address', () => hasAddress('b'));
    north.disconnect();
    await until('north does not answer', () => part.problems().length > 0);
    await withdraw('b');
    await east.export('c');
    change(entries.slice(0, 2));
    await until('the last service has an address', () => hasAddress('c'));
  });
});

describe('endpoints with addresses of other members', () => {
  /** The endpoints of east that a cluster imports. */
  const arriving = async (west: Cluster): Promise<readonly string[]> => (await west.addresses('web'))['east'] ?? [];

  const eventOf = async (cluster: Cluster): Promise<string | undefined> => {
    const { items } = await cluster.client.list(eventKind, { namespace: 'shop' });
    return items.find(({ reason }) => reason === 'EndpointsDropped')?.message;
  };

  test('are dropped, and the Service is exported without them', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west, north] = await startClusters(['east', 'west', 'north'], stack);
    assert.ok(east && west && north);
    const policy = { endpointRanges: endpointRangesOf(['10.3.0.0/16']) };
    const entries = [entryOf(east, 0), entryOf(west, 1), { ...entryOf(north, 2), policy }];
    const { metrics } = join([east, west, north], stack, { members: (change) => change(entries) });
    const refused = {
      '10.3.0.1': 'is in 10.3.0.0/16, which is declared for endpoints of cluster north',
      '10.200.0.7': 'is in 10.200.0.0/16, where cluster east has its Services',
      '10.201.0.7': 'is in 10.201.0.0/16, where cluster west has its Services',
      '241.1.0.7': 'is in 241.1.0.0/16, where imports into cluster west have their addresses',
    };
    await east.service('web', ['10.1.0.1', ...Object.keys(refused)]);
    await east.export('web');
    await until('the other endpoints are imported', async () => (await arriving(west)).join() === '10.1.0.1');
    assert.match(await metrics.metrics(), /fairlead_multicluster_dropped\{cluster="east"\} 4/);
    await until('an Event reports the dropped endpoint', async () => (await eventOf(east)) !== undefined);
    const message = (await eventOf(east)) ?? '';
    for (const [address, why] of Object.entries(refused)) assert.ok(message.includes(`${address} ${why}`), message);
    await until('it is accepted', async () => (await east.conditions('web', 'supercluster'))['Initialized'] === 'True');
  });

  test('are dropped when a range is declared, and imported again when it is removed', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west] = await startClusters(['east', 'west'], stack);
    assert.ok(east && west);
    await join([east, west], stack).part.ready;
    await east.service('web', ['10.1.0.1', '10.2.0.1']);
    await east.export('web');
    await until('all endpoints are imported', async () => (await arriving(west)).join() === '10.1.0.1,10.2.0.1');
    const range = { metadata: { name: 'more' }, spec: { cidrs: ['10.2.0.0/16'] }, status: {} };
    await west.client.create(serviceCidrKind, range);
    await until('one endpoint is dropped', async () => (await arriving(west)).join() === '10.1.0.1');
    await west.client.delete(serviceCidrKind, { name: 'more' });
    await until('the endpoint is imported again', async () => (await arriving(west)).join() === '10.1.0.1,10.2.0.1');
  });

  test('are dropped when a member that declares a range joins', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west, north] = await startClusters(['east', 'west', 'north'], stack);
    assert.ok(east && west && north);
    let change: (entries: readonly MemberEntry[]) => void = () => undefined;
    const entries = [entryOf(east, 0), entryOf(west, 1)];
    join([east, west], stack, { members: (update) => (change = update)(entries) });
    await east.service('web', ['10.1.0.1', '10.2.0.1']);
    await east.export('web');
    await until('all endpoints are imported', async () => (await arriving(west)).join() === '10.1.0.1,10.2.0.1');
    const policy = { endpointRanges: endpointRangesOf(['10.2.0.0/16']) };
    change([...entries, { ...entryOf(north, 2), policy }]);
    await until('one endpoint is dropped', async () => (await arriving(west)).join() === '10.1.0.1');
    change(entries);
    await until('the endpoint is imported again', async () => (await arriving(west)).join() === '10.1.0.1,10.2.0.1');
  });
});

describe('namespaces from which no cluster may export', () => {
  test('MCS-31 an export reports why it is not accepted, an existing one is withdrawn, and it can be exported again', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west'], stack);
    const [east, west] = clusters;
    assert.ok(east && west);
    const first = stack.use(new AsyncDisposableStack());
    await join(clusters, first).part.ready;
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('the service is imported', async () => (await west.importedService('web')) !== undefined);
    await first.disposeAsync();
    const second = stack.use(new AsyncDisposableStack());
    await join(clusters, second, { deniedNamespaces: ['default', 'shop'] }).part.ready;
    await until('the service is withdrawn', async () => (await west.importedService('web')) === undefined);
    await until(
      'the condition names the reason',
      async () => (await reasonOf(east, 'Initialized')) === 'NamespaceNotAllowed',
    );
    const object = await east.client.get(superclusterExportKind, { namespace: 'shop', name: 'web' });
    assert.match(
      object.status?.conditions?.find(({ type }) => type === 'Initialized')?.message ?? '',
      /no cluster may export from namespace shop: it is in --deny-export-namespaces of the multi-cluster controller/,
    );
    await east.unexport('web');
    await until(
      'its deletion completes',
      async () => (await east.client.find(superclusterExportKind, { namespace: 'shop', name: 'web' })) === undefined,
    );
    await second.disposeAsync();
    await join(clusters, stack).part.ready;
    await east.export('web');
    await until('the service is imported again', async () => (await west.importedService('web')) !== undefined);
  });
});
