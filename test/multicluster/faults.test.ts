// Whatever fails, the clusters converge to the state of the exports, and no object is deleted that should stay.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { failure } from '../../src/api/errors.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { importedServiceKind } from '../../src/api/kinds/multicluster/supercluster/import.ts';
import { until } from '../../src/server/testing/until.ts';
import type { Cluster } from './clusters.ts';
import { join, startClusters } from './clusters.ts';
import { stoppedClock, untilIdle } from './until-idle.ts';

const isWrite = ({ method }: { readonly method: string }): boolean => method !== 'GET';

/** The objects of `web` in a cluster, without random fields. */
async function held(cluster: Cluster): Promise<unknown> {
  const [imported, current, slices] = await Promise.all([
    cluster.importedService('web'),
    cluster.serviceImport('web'),
    cluster.imported('web'),
  ]);
  return {
    imported: imported?.spec,
    current: current?.spec,
    clusters: current?.status?.clusters,
    slices: slices.map(({ metadata: { name, labels }, endpoints, ports }) => ({ name, labels, endpoints, ports })),
  };
}

async function isSettled(clusters: readonly Cluster[], exporters: readonly Cluster[]): Promise<boolean> {
  for (const cluster of clusters) {
    if (Object.keys(await cluster.addresses('web')).length !== exporters.length) return false;
  }
  for (const cluster of exporters) {
    if ((await cluster.conditions('web', 'supercluster'))['Exported'] !== 'True') return false;
    if ((await cluster.conditions('web', 'clusterset'))['Ready'] !== 'True') return false;
  }
  return true;
}

async function twoExporters(stack: AsyncDisposableStack): Promise<readonly [Cluster, Cluster]> {
  const [east, west] = await startClusters(['east', 'west'], stack);
  assert.ok(east && west);
  await east.service('web', ['10.1.0.1']);
  await west.service('web', ['10.2.0.1']);
  return [east, west];
}

describe('a controller that is killed', () => {
  for (const order of ['before', 'after'] as const) {
    test(`${order} any of its writes: the next controller completes the state`, async () => {
      await using reference = new AsyncDisposableStack();
      const expected = await undisturbed(reference);
      for (let step = 0; step < expected.writes; step++) {
        await using stack = new AsyncDisposableStack();
        const clusters = await twoExporters(stack);
        for (const cluster of clusters) await cluster.export('web');
        const first = stack.use(new AsyncDisposableStack());
        let left = step;
        const dead = Promise.withResolvers<void>();
        const kill = (call: { readonly method: string; readonly path: string }): void => {
          if (!isWrite(call) || call.path.includes('/leases') || left-- > 0) return;
          dead.resolve();
          throw new Error('killed');
        };
        for (const cluster of clusters) cluster[order === 'before' ? 'fault' : 'faultAfter'] = kill;
        join(clusters, first);
        await Promise.race([dead.promise, delay(1000)]);
        await first.disposeAsync();
        for (const cluster of clusters) cluster.reconnect();
        join(clusters, stack);
        await until(`it is complete after write ${step}`, () => isSettled(clusters, clusters));
        assert.deepEqual(await Promise.all(clusters.map(held)), expected.held, `after write ${step}`);
      }
    });
  }

  async function undisturbed(
    stack: AsyncDisposableStack,
  ): Promise<{ readonly held: readonly unknown[]; readonly writes: number }> {
    const clusters = await twoExporters(stack);
    for (const cluster of clusters) await cluster.export('web');
    join(clusters, stack);
    await until('the state is complete', () => isSettled(clusters, clusters));
    const writes = clusters.flatMap((each) => each.writes).filter(({ path }) => !path.includes('/leases'));
    return { held: await Promise.all(clusters.map(held)), writes: writes.length };
  }
});

describe('a failing member', () => {
  test('MCS-23 a member that does not answer does not delay others, and catches up', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west, north] = await startClusters(['east', 'west', 'north'], stack);
    assert.ok(east && west && north);
    const { part, logged } = join([east, west, north], stack);
    await part.ready;
    logged.length = 0;
    north.disconnect();
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('the others import it', async () => (await west.imported('web')).length === 1);
    await until('the export names the missing member', async () => {
      const conditions = await east.conditions('web', 'supercluster');
      return conditions['Exported'] === 'False' && conditions['Initialized'] === 'True';
    });
    assert.ok(part.problems().some((problem) => problem.startsWith('requests to cluster north fail: ')));
    north.reconnect();
    await until('north catches up', async () => (await north.imported('web')).length === 1);
    await until(
      'the export is complete',
      async () => (await east.conditions('web', 'supercluster'))['Exported'] === 'True',
    );
    assert.deepEqual(logged, [
      'requests to the cluster fail, retrying',
      'cluster is lost, its leases expire',
      'requests to the cluster succeed again',
    ]);
  });

  test('a slow member does not delay others', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west, slow] = await startClusters(['east', 'west', 'slow'], stack);
    assert.ok(east && west && slow);
    const { part } = join([east, west, slow], stack);
    await part.ready;
    const { promise: end, resolve } = Promise.withResolvers<void>();
    slow.fault = (call) => (isWrite(call) ? end : undefined);
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('the others import it', async () => (await west.imported('web')).length === 1);
    for (let last = 1; last <= 20; last++) await east.slice('web', [`10.1.0.${last}`]);
    await until('the others import the change', async () => (await west.addresses('web'))['east']?.[0] === '10.1.0.20');
    assert.deepEqual(await slow.imported('web'), [], 'which has not even begun');
    resolve();
    slow.reconnect();
    await until('the slow member catches up', async () => (await slow.addresses('web'))['east']?.[0] === '10.1.0.20');
  });

  for (const code of [401, 403, 404, 410, 503]) {
    test(`a source that answers ${code} is unknown, not empty: its slices stay`, async () => {
      await using stack = new AsyncDisposableStack();
      const clusters = await twoExporters(stack);
      const [east, west] = clusters;
      for (const cluster of clusters) await cluster.export('web');
      const first = stack.use(new AsyncDisposableStack());
      join(clusters, first);
      await until('the state is complete', () => isSettled(clusters, clusters));
      const before = await held(east);
      await first.disposeAsync();
      west.fault = ({ path }) => {
        if (!path.includes('multicluster')) return;
        throw failure({ code, reason: 'Unknown', message: `${code}` });
      };
      join(clusters, stack);
      await delay(500);
      assert.deepEqual(await held(east), before);
      west.reconnect();
      await west.slice('web', ['10.2.0.2']);
      await until('changes are imported again', async () => (await east.addresses('web'))['west']?.[0] === '10.2.0.2');
    });
  }

  test('a deleted export keeps its finalizer until every member that answers was read and has no imports of it', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west] = await startClusters(['east', 'west'], stack);
    assert.ok(east && west);
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    const first = stack.use(new AsyncDisposableStack());
    join([east, west], first);
    await until('the export is complete', () => isSettled([east, west], [east]));
    await first.disposeAsync();
    const { promise: end, resolve } = Promise.withResolvers<void>();
    west.fault = ({ path }) => (/(endpointslices|services|serviceimports)$/.test(path) ? end : undefined);
    join([east, west], stack);
    stack.defer(resolve);
    await east.unexport('web');
    await east.service('other', ['10.1.0.2']);
    await east.export('other');
    await until(
      'east was worked on',
      async () => (await east.conditions('other', 'supercluster'))['Initialized'] !== undefined,
    );
    await untilIdle([east]);
    const web = { namespace: 'shop', name: 'web' };
    assert.ok(await east.client.find(superclusterExportKind, web), 'its finalizer holds it');
    assert.notDeepEqual(await west.addresses('web'), {});
    west.reconnect();
    resolve();
    await until('the import is withdrawn', async () => Object.keys(await west.addresses('web')).length === 0);
    await until(
      'the export is deleted',
      async () => (await east.client.find(superclusterExportKind, web)) === undefined,
    );
  });

  test('a partition into halves heals without remains', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await twoExporters(stack);
    const [east, west] = clusters;
    for (const cluster of clusters) await cluster.export('web');
    join(clusters, stack);
    await until('the state is complete', () => isSettled(clusters, clusters));
    west.disconnect();
    await east.slice('web', ['10.1.0.9']);
    await west.slice('web', ['10.2.0.9']);
    await west.unexport('web');
    await until(
      'changes are imported in the half of the controller',
      async () => (await east.addresses('web'))['east']?.[0] === '10.1.0.9',
    );
    assert.deepEqual((await east.addresses('web'))['west'], ['10.2.0.1'], 'what is not known to be gone stays');
    west.reconnect();
    await until(
      'the withdrawn service is deleted',
      async () => Object.keys(await east.addresses('web')).join() === 'east',
    );
    await until('the other half has the change', async () => (await west.addresses('web'))['east']?.[0] === '10.1.0.9');
    await until(
      'the export is deleted',
      async () => Object.keys(await west.conditions('web', 'supercluster')).length === 0,
    );
  });
});

describe('two controllers', () => {
  test('converge to the same state as one, and stop writing', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await twoExporters(stack);
    const [east, west] = clusters;
    for (const _ of [1, 2]) join(clusters, stack, { clock: stoppedClock });
    for (const cluster of clusters) await cluster.export('web');
    await until('the state is complete', () => isSettled(clusters, clusters));
    for (let last = 1; last <= 10; last++) await east.slice('web', [`10.1.0.${last}`]);
    await until('the change is imported', async () => (await west.addresses('web'))['east']?.[0] === '10.1.0.10');
    await untilIdle(clusters, 500);
    assert.equal((await east.imported('web')).length, 2);
    await west.unexport('web');
    await east.unexport('web');
    await until('the import is deleted', async () => (await west.importedService('web')) === undefined);
  });

  test('elect a leader, which alone writes', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await twoExporters(stack);
    const leaderElection = {
      namespace: 'kube-system',
      name: 'mcs',
      leaseDurationMs: 2000,
      renewDeadlineMs: 1000,
      retryPeriodMs: 200,
    };
    const parts = [1, 2].map(() => stack.use(new AsyncDisposableStack()));
    for (const each of parts) await join(clusters, each, { leaderElection }).part.ready;
    await clusters[0].export('web');
    await until('the service is imported', async () => (await clusters[1].imported('web')).length === 1);
    await parts[0]?.disposeAsync();
    await clusters[1].export('web');
    await until('the other controller takes over', () => isSettled(clusters, clusters));
  });
});

describe('manual changes', () => {
  test('MCS-71 MCS-103 MCS-108 are reverted, and objects of others are not changed', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await twoExporters(stack);
    const [east, west] = clusters;
    await east.export('web');
    join(clusters, stack);
    await until('the state is complete', () => isSettled(clusters, [east]));
    const before = await held(west);
    const [slice] = await west.imported('web');
    assert.ok(slice);
    const foreign = {
      ...slice,
      metadata: {
        namespace: 'shop',
        name: 'foreign',
        labels: { ...slice.metadata.labels, 'endpointslice.kubernetes.io/managed-by': 'somebody' },
      },
    };
    await west.client.create(endpointSliceKind, foreign);
    await west.client.update(endpointSliceKind, { ...slice, endpoints: [] });
    const own = async (): Promise<boolean> => {
      const now = await west.imported('web');
      assert.ok(now.some(({ metadata }) => metadata.name === 'foreign'));
      const others = now.filter(({ metadata }) => metadata.name !== 'foreign');
      return others.length === 1 && others[0]?.endpoints?.[0]?.addresses?.[0] === '10.1.0.1';
    };
    await until('the endpoints are back', own);
    const name = { namespace: 'shop', name: slice.metadata.name ?? '' };
    const label = 'multicluster.kubernetes.io/service-name';
    await west.client.patch(endpointSliceKind, name, { body: { metadata: { labels: { [label]: 'other' } } } });
    await until('the labels are back', own);
    await west.client.delete(endpointSliceKind, name);
    await until('the slice is back', own);
    await west.client.delete(endpointSliceKind, { namespace: 'shop', name: 'foreign' });
    assert.deepEqual(await held(west), before);
    const imported = await west.importedService('web');
    assert.ok(imported?.spec);
    await west.client.update(importedServiceKind, { ...imported, spec: { ...imported.spec, ip: '241.1.0.77' } });
    await until('the address is back', async () => (await west.importedService('web'))?.spec?.ip === imported.spec?.ip);
    await west.client.delete(importedServiceKind, { namespace: 'shop', name: 'web' });
    await until('the import is back', async () => (await west.importedService('web'))?.spec?.ip === imported.spec?.ip);
    await until('the state is complete', async () => {
      const owners = (await west.imported('web'))[0]?.metadata.ownerReferences ?? [];
      const uid = (await west.importedService('web'))?.metadata.uid;
      return owners.some((owner) => owner.uid === uid);
    });
    assert.deepEqual(await held(west), before);
  });
});
