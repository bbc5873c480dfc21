import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { join, startClusters } from './clusters.ts';

describe('two joined clusters', () => {
  test('MCS-4 MCS-15 MCS-60 a Service of one cluster is imported in both, and its exports report it', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west] = await startClusters(['east', 'west'], stack);
    assert.ok(east && west);
    const { part } = join([east, west], stack);
    await part.ready;
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    for (const cluster of [east, west]) {
      await until('the service is imported', async () => (await cluster.imported('web')).length === 1);
      assert.deepEqual(await cluster.addresses('web'), { east: ['10.1.0.1'] });
      const [imported, clusterset] = [await cluster.importedService('web'), await cluster.serviceImport('web')];
      assert.equal(imported?.spec?.ip, clusterset?.spec?.ips?.[0]);
      assert.match(imported?.spec?.ip ?? '', /^241\./);
    }
    await until('the exports report success', async () => {
      const [supercluster, clusterset] = [
        await east.conditions('web', 'supercluster'),
        await east.conditions('web', 'clusterset'),
      ];
      return supercluster['Exported'] === 'True' && clusterset['Ready'] === 'True';
    });
    assert.deepEqual(await east.conditions('web', 'supercluster'), {
      Initialized: 'True',
      Exported: 'True',
      Conflict: 'False',
    });
    await west.service('web', ['10.2.0.1', '10.2.0.2']);
    await west.export('web', ['clusterset']);
    await until('both clusters export it', async () => Object.keys(await east.addresses('web')).length === 2);
    assert.deepEqual(part.problems(), []);
    await east.unexport('web');
    await until('one export is withdrawn', async () => Object.keys(await west.addresses('web')).join() === 'west');
    await west.unexport('web');
    for (const cluster of [east, west]) {
      await until('MCS-104 the import is deleted', async () => (await cluster.importedService('web')) === undefined);
      await until('both imports are deleted', async () => (await cluster.serviceImport('web')) === undefined);
      assert.deepEqual(await cluster.imported('web'), []);
    }
  });
});
