// Members of a set: identity, quotas, changed settings, and members with one API.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { clusterPropertyKind } from '../../src/api/kinds/about/clusterproperty/kind.ts';
import { failure } from '../../src/api/errors.ts';
import { leaseKind } from '../../src/api/kinds/coordination/lease/kind.ts';
import { Vips } from '../../src/multicluster/member/vips.ts';
import { until } from '../../src/server/testing/until.ts';
import { entryOf, join, startClusters } from './clusters.ts';
import { joined, reasonOf } from './pair.ts';

describe('members', () => {
  test('MCS-3 a member has ClusterProperties with its id and the set', async () => {
    await using stack = new AsyncDisposableStack();
    const { west } = await joined(stack);
    const value = async (name: string): Promise<string | undefined> =>
      (await west.client.find(clusterPropertyKind, { name }))?.spec?.value;
    await until('the property is written', async () => (await value('clusterset.k8s.io')) === 'fairlead');
    assert.equal(await value('cluster.clusterset.k8s.io'), 'west');
  });

  test('MCS-3 a cluster with another id in its ClusterProperty does not take part', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west] = await startClusters(['east', 'west'], stack);
    assert.ok(east && west);
    await west.client.create(clusterPropertyKind, {
      metadata: { name: 'cluster.clusterset.k8s.io' },
      spec: { value: 'north' },
    });
    const { part } = join([east, west], stack);
    await until('the controller reports it', () =>
      part.problems().some((problem) => problem.startsWith('cluster west has the id north')),
    );
  });

  test('exports over the quota of a member or outside its namespaces are rejected with a reason', async () => {
    await using stack = new AsyncDisposableStack();
    const [east] = await startClusters(['east'], stack);
    assert.ok(east);
    await east.service('old', ['10.1.0.1']);
    await east.export('old');
    await delay(1100); // creation times are whole seconds
    const policy = { maxExports: 1 };
    join([east], stack, { members: (change) => change([{ ...entryOf(east, 0), policy }]) });
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('the export is rejected', async () => (await reasonOf(east, 'Initialized')) === 'QuotaExceeded');
    await until('the older export is imported', async () => (await east.importedService('old')) !== undefined);
    assert.equal(await east.importedService('web'), undefined);
    await delay(1000);
    await east.unexport('old');
    await until('the next export is accepted', async () => (await east.importedService('web')) !== undefined);
  });

  test('another cluster under the id of a member is rejected, also by the next controller', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west, other] = await startClusters(['east', 'west', 'other'], stack);
    assert.ok(east && west && other);
    const first = stack.use(new AsyncDisposableStack());
    join([east, west], first);
    await west.service('web', ['10.2.0.1']);
    await west.export('web');
    const leased = { namespace: 'kube-system', name: 'multicluster-source-west' };
    await until('the uid is in the lease', async () => (await east.client.find(leaseKind, leased)) !== undefined);
    await until('the service is imported', async () => (await east.imported('web')).length === 1);
    await first.disposeAsync();
    const entries = [entryOf(east, 0), { ...entryOf(other, 1), id: 'west' }];
    const { part } = join([east], stack, { members: (change) => change(entries) });
    const isTold = (): boolean => part.problems().some((problem) => problem.includes('behind id west was replaced'));
    await until('the controller reports it', isTold);
    assert.deepEqual(await east.addresses('web'), { west: ['10.2.0.1'] }, "what came from the old one is the reaper's");
  });

  test('a member with changed settings stays connected, and nothing is deleted meanwhile', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west] = await startClusters(['east', 'west'], stack);
    assert.ok(east && west);
    await west.service('web', ['10.2.0.1']);
    await west.export('web');
    let change: (region: string) => void = () => undefined;
    const vips = [new Vips(['241.0.0.0/24']), new Vips(['241.1.0.0/24'])];
    const { part } = join([east, west], stack, {
      members(update) {
        change = (region) =>
          update(
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
    await until('the service is imported', async () => (await regions()) === 'here');
    await until('the export reports success', async () => (await reasonOf(west, 'Exported')) === 'Exported');
    const deletions = (): number =>
      [east, west].flatMap(({ writes }) => writes).filter(({ method }) => method === 'DELETE').length;
    change('there');
    await until('the change is applied', async () => (await regions()) === 'there');
    assert.equal(deletions(), 0);
    assert.deepEqual(part.problems(), []);
  });

  test('one cluster under two ids takes part once', async () => {
    await using stack = new AsyncDisposableStack();
    const [east] = await startClusters(['east'], stack);
    assert.ok(east);
    const twin = { ...entryOf(east, 1), id: 'twin' };
    const { part } = join([east], stack, { members: (change) => change([entryOf(east, 0), twin]) });
    await until('the controller reports it', () =>
      part.problems().some((problem) => problem === 'east and twin are one cluster: remove one of them'),
    );
  });

  test('a cluster that serves one API takes part in that API', async () => {
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
    await stock.export('web', ['clusterset']);
    await until('the ImportedService exists', async () => (await east.importedService('web')) !== undefined);
    await until('the other cluster imports it', async () => (await stock.imported('web')).length === 1);
    assert.equal(await stock.importedService('web'), undefined);
    assert.deepEqual(part.problems(), []);
  });
});
