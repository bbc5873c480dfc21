// The addresses of imported services: for how long they last, how many there are, and for whom.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { serviceExportKind } from '../../src/api/kinds/multicluster/serviceexport/kind.ts';
import { Vips } from '../../src/multicluster/member/vips.ts';
import type { MemberEntry } from '../../src/multicluster/multicluster.ts';
import { until } from '../../src/server/testing/until.ts';
import { entryOf, join, joinSharing, startClusters } from './clusters.ts';
import { reasonOf } from './pair.ts';

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
    for (const name of ['a', 'b']) {
      await east.service(name, ['10.1.0.1']);
      await east.export(name);
      await until('it has one', async () => (await east.importedService(name)) !== undefined);
    }
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('the next has none', async () => (await reasonOf(east, 'Initialized')) === 'NoFreeAddress');
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
    joinSharing(clusters, new Vips(['241.0.0.0/24']), stack);
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until(
      'both have it',
      async () => ((await east.importedService('web')) && (await west.importedService('web'))) !== undefined,
    );
    assert.equal((await east.importedService('web'))?.spec?.ip, (await west.importedService('web'))?.spec?.ip);
  });

  test('MCS-45 what is freed of an address for all clusters goes to the next service in all of them', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west', 'north'], stack);
    const [east] = clusters;
    assert.ok(east);
    await joinSharing(clusters, new Vips(['241.0.0.1/32']), stack).part.ready;
    const haveAll = async (name: string): Promise<boolean> =>
      (await Promise.all(clusters.map((each) => each.importedService(name)))).every((each) => each !== undefined);
    await east.service('a', ['10.1.0.1']);
    await east.export('a');
    await until('all have the first', () => haveAll('a'));
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('the next one has none', async () => (await reasonOf(east, 'Initialized')) === 'NoFreeAddress');
    await east.unexport('a');
    await until('now all have it', () => haveAll('web'));
  });

  test('MCS-44 an address is given back when a cluster that may have it can be read, or is no member any more', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west', 'north'], stack);
    const [east, west, north] = clusters;
    assert.ok(east && west && north);
    north.disconnect();
    let change: (entries: readonly MemberEntry[]) => void = () => undefined;
    const vips = new Vips(['241.0.0.1/32']);
    const entries = clusters.map((each, index) => ({ ...entryOf(each, index), vips }));
    const members = (tell: typeof change): void => (change = tell)(entries);
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
    await until('the first has it', () => hasAddress('a'));
    await withdraw('a');
    north.reconnect();
    await until('north is read', () => part.problems().length === 0);
    await east.export('b');
    await until('the next has it', () => hasAddress('b'));
    north.disconnect();
    await until('north is away', () => part.problems().length > 0);
    await withdraw('b');
    await east.export('c');
    change(entries.slice(0, 2));
    await until('the last has it', () => hasAddress('c'));
  });
});
