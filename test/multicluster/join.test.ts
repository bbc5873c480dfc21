import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { join, startClusters } from './clusters.ts';

describe('two clusters that are joined', () => {
  test('MCS-4 MCS-15 MCS-60 a Service that one exports is in both, and its exports know it', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west] = await startClusters(['east', 'west'], stack);
    assert.ok(east && west);
    const { part } = join([east, west], stack);
    await part.ready;
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    for (const cluster of [east, west]) {
      await until('it is imported', async () => (await cluster.imported('web')).length === 1);
      assert.deepEqual(await cluster.addresses('web'), { east: ['10.1.0.1'] });
      const [imported, current] = [await cluster.importedService('web'), await cluster.serviceImport('web')];
      assert.equal(imported?.spec?.ip, current?.spec?.ips?.[0]);
      assert.match(imported?.spec?.ip ?? '', /^241\./);
    }
    await until('the exports are told', async () => {
      const [seed, current] = [await east.conditions('web', 'seed'), await east.conditions('web', 'current')];
      return seed['Exported'] === 'True' && current['Ready'] === 'True';
    });
    assert.deepEqual(await east.conditions('web', 'seed'), {
      Initialized: 'True',
      Exported: 'True',
      Conflict: 'False',
    });
    await west.service('web', ['10.2.0.1', '10.2.0.2']);
    await west.export('web', ['current']);
    await until('both take part', async () => Object.keys(await east.addresses('web')).length === 2);
    assert.deepEqual(part.problems(), []);
    await east.unexport('web');
    await until('one is withdrawn', async () => Object.keys(await west.addresses('web')).join() === 'west');
    await west.unexport('web');
    for (const cluster of [east, west]) {
      await until('MCS-104 the import is gone', async () => (await cluster.importedService('web')) === undefined);
      await until('of both shapes', async () => (await cluster.serviceImport('web')) === undefined);
      assert.deepEqual(await cluster.imported('web'), []);
    }
  });
});
