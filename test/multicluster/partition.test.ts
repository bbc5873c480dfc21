// Partial failures: a set in two halves, revoked rights, compacted history, wrong clocks.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { failure } from '../../src/api/errors.ts';
import type { Clock } from '../../src/client/clock.ts';
import { systemClock } from '../../src/client/clock.ts';
import { until } from '../../src/server/testing/until.ts';
import type { Cluster } from './clusters.ts';
import { entryOf, join, quickProbes, reap, startClusters } from './clusters.ts';
import { differences } from './differences.ts';

const sourcesOf = async (cluster: Cluster, name = 'web'): Promise<string> =>
  Object.keys(await cluster.addresses(name))
    .toSorted()
    .join();

/** Clusters that all export `web`; `joinAll` starts the controllers. */
async function exporting(
  ids: readonly string[],
  stack: AsyncDisposableStack,
  joinAll: (clusters: readonly Cluster[]) => void,
): Promise<readonly Cluster[]> {
  const clusters = await startClusters(ids, stack);
  joinAll(clusters);
  for (const [index, cluster] of clusters.entries()) {
    await cluster.service('web', [`10.${index + 1}.0.1`]);
    await cluster.export('web');
  }
  for (const cluster of clusters) {
    await until('all clusters import from all', async () => (await sourcesOf(cluster)) === ids.toSorted().join());
  }
  return clusters;
}

/** Waits until nothing is left to write: all members equal the merge of all exports. */
async function isMerged(clusters: readonly Cluster[]): Promise<void> {
  let left: readonly string[] = [];
  const probe = async (): Promise<boolean> => (left = await differences(clusters, ['web', 'new'])).length === 0;
  await until('the state is the merge of all exports', probe).catch((cause: unknown) => {
    throw new Error(left.join('\n'), { cause });
  });
}

const identity = async (cluster: Cluster): Promise<unknown> => {
  const found = await cluster.importedService('web');
  return [found?.metadata.uid, found?.spec?.ip];
};

describe('a set in two halves', () => {
  test('MCS-84 MCS-86 each half continues with its own controller, and both converge after the partition', async () => {
    await using stack = new AsyncDisposableStack();
    // Long enough that no half considers its own members lost on a busy machine.
    const probeTimes = { renewMs: 500, durationMs: 4000 };
    let isWhole = true;
    const halves = [
      ['east', 'north'],
      ['west', 'south'],
    ];
    const clusters = await exporting(halves.flat(), stack, (all) => {
      for (const half of halves) {
        const line = (cluster: Cluster) => (): void => {
          if (!isWhole && !half.includes(cluster.id)) throw new Error('connect ETIMEDOUT');
        };
        const entries = all.map((each, index) => ({
          ...entryOf(each, index),
          connect: () => each.connect('multicluster', line(each)),
        }));
        join(all, stack, { members: (change) => change(entries), probeTimes });
      }
      for (const cluster of all) reap(cluster, stack, { probeTimes });
    });
    const [east, north, west, south] = clusters;
    assert.ok(east && north && west && south);
    await isMerged(clusters);
    const before = await Promise.all(clusters.map(identity));
    isWhole = false;
    for (const cluster of clusters) cluster.breakConnections();
    for (const cluster of [east, north]) {
      await until('slices of the other half are deleted', async () => (await sourcesOf(cluster)) === 'east,north');
    }
    for (const cluster of [west, south]) {
      await until(
        'slices of the other half are deleted there too',
        async () => (await sourcesOf(cluster)) === 'south,west',
      );
    }
    await east.slice('web', ['10.1.0.9']);
    await until('each half imports changes', async () => (await north.addresses('web'))['east']?.[0] === '10.1.0.9');
    await south.unexport('web');
    await until('withdrawn services are deleted in each half', async () => (await sourcesOf(west)) === 'west');
    await west.service('new', ['10.3.0.2']);
    await west.export('new');
    await until('new services are imported in each half', async () => (await sourcesOf(south, 'new')) === 'west');
    isWhole = true;
    for (const cluster of clusters) {
      await until('both halves have converged', async () => (await sourcesOf(cluster)) === 'east,north,west');
      await until('new services are imported everywhere', async () => (await sourcesOf(cluster, 'new')) === 'west');
    }
    await isMerged(clusters);
    assert.deepEqual(await Promise.all(clusters.map(identity)), before, 'the imports and their addresses are the same');
  });
});

describe('a member that answers with errors', () => {
  for (const { name, code, applies } of [
    { name: '403 to everything, because the rights of the controller were removed', code: 403, applies: () => true },
    { name: '410 to every watch, since its history is gone', code: 410, applies: isWatch },
    { name: '403 to every write', code: 403, applies: (call: { readonly method: string }) => call.method !== 'GET' },
  ]) {
    test(`${name}: nothing is deleted, and changes are imported afterwards`, async () => {
      await using stack = new AsyncDisposableStack();
      const clusters = await exporting(['east', 'west'], stack, (all) => void join(all, stack));
      const [east, west] = clusters;
      assert.ok(east && west);
      const before = await Promise.all(clusters.map(identity));
      let refused = 0;
      west.fault = (call) => {
        if (!applies(call)) return;
        refused++;
        throw failure({ code, reason: 'Unknown', message: `${code}` });
      };
      west.breakConnections();
      await delay(2 * quickProbes.renewMs);
      await east.slice('web', ['10.1.0.2']);
      await until(
        'changes are imported elsewhere',
        async () => (await east.addresses('web'))['east']?.[0] === '10.1.0.2',
      );
      assert.deepEqual((await east.addresses('web'))['west'], ['10.2.0.1']);
      assert.deepEqual(Object.keys(await west.addresses('web')).toSorted(), ['east', 'west']);
      await until('the member has rejected a request', () => refused > 0);
      west.reconnect();
      await west.slice('web', ['10.2.0.2']);
      await until('the member is read', async () => (await east.addresses('web'))['west']?.[0] === '10.2.0.2');
      await until('the member is written', async () => (await west.addresses('web'))['east']?.[0] === '10.1.0.2');
      await isMerged(clusters);
      assert.deepEqual(await Promise.all(clusters.map(identity)), before);
    });
  }

  test('a slow source, within the interval of probes, keeps its endpoints and does not delay others', async () => {
    await using stack = new AsyncDisposableStack();
    const probeTimes = { renewMs: 1000, durationMs: 6000 };
    const clusters = await exporting(['east', 'west', 'slow'], stack, (all) => {
      join(all, stack, { probeTimes });
      for (const cluster of all) reap(cluster, stack, { probeTimes });
    });
    const [east, west, slow] = clusters;
    assert.ok(east && west && slow);
    slow.fault = () => delay(probeTimes.renewMs / 3);
    slow.breakConnections();
    const end = performance.now() + probeTimes.durationMs + probeTimes.renewMs;
    for (let last = 2; performance.now() < end; last++) {
      await east.slice('web', [`10.1.0.${last}`]);
      await until(
        'other members import the change',
        async () => (await west.addresses('web'))['east']?.[0] === `10.1.0.${last}`,
      );
      assert.deepEqual((await west.addresses('web'))['slow'], ['10.3.0.1']);
      await delay(50);
    }
    slow.reconnect();
    await isMerged(clusters);
  });
});

function isWatch(call: { readonly query?: Readonly<Record<string, unknown>> | undefined }): boolean {
  return call.query?.['watch'] !== undefined;
}

describe('a clock that is set back and another that is ahead', () => {
  test('MCS-87 change nothing: leases are renewed, nothing is deleted, and a lost source is detected in time', async () => {
    await using stack = new AsyncDisposableStack();
    const probeTimes = { renewMs: 500, durationMs: 4000 };
    let offMs = 0;
    const wrong: Clock = { ...systemClock, now: () => systemClock.now() + offMs };
    const ahead: Clock = { ...systemClock, now: () => systemClock.now() + 86_400_000 };
    const clusters = await exporting(['east', 'west'], stack, (all) => {
      join(all, stack, { clock: wrong, probeTimes });
      const [east, west] = all;
      assert.ok(east && west);
      reap(east, stack, { clock: wrong, probeTimes });
      reap(west, stack, { clock: ahead, probeTimes });
    });
    const [east, west] = clusters;
    assert.ok(east && west);
    offMs = -3_600_000;
    for (const end = performance.now() + 1.5 * probeTimes.durationMs; performance.now() < end; await delay(50)) {
      for (const cluster of clusters) assert.equal(await sourcesOf(cluster), 'east,west');
    }
    await isMerged(clusters);
    west.disconnect();
    // A decision by wall clocks would be an hour or a day too late.
    await until('the endpoints of the lost source are deleted', async () => (await sourcesOf(east)) === 'east');
    west.reconnect();
    await until('the endpoints are imported again', async () => (await sourcesOf(east)) === 'east,west');
    await isMerged(clusters);
  });
});
