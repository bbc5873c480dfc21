// Two controllers that write to the same clusters, and read them in different orders.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import type { Cluster } from './clusters.ts';
import { entryOf, join, startClusters } from './clusters.ts';
import { untilIdle } from './until-idle.ts';

const order = async (cluster: Cluster): Promise<string> =>
  ((await cluster.serviceImport('web'))?.status?.clusters ?? []).map((each) => each.cluster).join();

describe('two controllers', () => {
  test('agree on the order of exporters, although each read another one first, and stop writing', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west'], stack);
    let isWhole = false;
    for (const own of clusters) {
      const line = (cluster: Cluster) => (): void => {
        if (!isWhole && cluster !== own) throw new Error('connect ETIMEDOUT');
      };
      const entries = clusters.map((each, index) => ({
        ...entryOf(each, index),
        connect: () => each.connect('multicluster', line(each)),
      }));
      join(clusters, stack, { members: (change) => change(entries) });
    }
    for (const [index, cluster] of clusters.entries()) {
      await cluster.service('web', [`10.${index + 1}.0.1`]);
      await cluster.export('web');
      await until('each cluster has the order of its controller', async () => (await order(cluster)) === cluster.id);
    }
    isWhole = true;
    await until('all clusters agree', async () => {
      const [first, ...others] = await Promise.all(clusters.map(order));
      return first?.includes(',') === true && others.every((each) => each === first);
    });
    await untilIdle(clusters);
    const orders = await Promise.all(clusters.map(order));
    assert.equal(new Set(orders).size, 1, orders.join(' and '));
  });
});
