// Counts all writes to clusters: src/multicluster/README.md explains each of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { systemClock } from '../../src/client/clock.ts';
import { until } from '../../src/server/testing/until.ts';
import type { Cluster } from './clusters.ts';
import { join, startClusters } from './clusters.ts';
import { stoppedClock } from './until-idle.ts';

/** Kind of write → how often it was sent to a cluster. */
function written(cluster: Cluster): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { method, path } of cluster.writes) {
    const [, group, rest] = /\/apis\/([^/]+)\/.*\/shop\/(.*)/.exec(path) ?? [];
    if (group === undefined || rest === undefined) continue;
    const [plural, , subresource] = rest.split('/');
    const what = [method, `${plural}.${group}`, subresource].filter((part) => part !== undefined).join(' ');
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
}

/** Waits for the expected number of writes and returns those that were sent. */
async function isWritten(cluster: Cluster, expected: Record<string, number>): Promise<void> {
  const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((all, each) => all + each, 0);
  await until(`${cluster.id} is written to`, () => sum(written(cluster)) >= sum(expected)).catch(() => undefined);
  assert.deepEqual(written(cluster), expected, cluster.id);
}

const inEach = {
  'POST importedservices.multicluster.k8s.io': 1,
  'POST serviceimports.multicluster.x-k8s.io': 1,
  'PUT serviceimports.multicluster.x-k8s.io status': 1,
  'POST endpointslices.discovery.k8s.io': 1,
};
const inTheExporter = {
  'PUT serviceexports.multicluster.k8s.io': 1,
  'PUT serviceexports.multicluster.x-k8s.io': 1,
  'PUT serviceexports.multicluster.k8s.io status': 1,
  'PUT serviceexports.multicluster.x-k8s.io status': 1,
};

test('a service costs four writes in each cluster and four where it is exported, and a change of it one in each', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west', 'north', 'south'], stack);
  const [east, ...others] = clusters;
  assert.ok(east);
  // Each is slower than the one before, so that they import the service one after the other.
  for (const [index, cluster] of clusters.entries()) cluster.fault = () => delay(index * 15);
  await join(clusters, stack, { clock: stoppedClock }).part.ready;
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await isWritten(east, { ...inEach, ...inTheExporter });
  for (const cluster of others) await isWritten(cluster, inEach);

  // Further writes of this change would be counted with the next.
  for (const address of ['10.1.0.2', '10.1.0.3']) {
    await east.slice('web', [address]);
    for (const cluster of clusters) {
      await until('the cluster has the change', async () => (await cluster.addresses('web'))['east']?.[0] === address);
    }
  }
  const changed = { ...inEach, 'PUT endpointslices.discovery.k8s.io': 2 };
  await isWritten(east, { ...changed, ...inTheExporter });
  for (const cluster of others) await isWritten(cluster, changed);
});

const exportedIn = async (cluster: Cluster): Promise<{ status: string; message?: string } | undefined> =>
  (await cluster.client.find(superclusterExportKind, { namespace: 'shop', name: 'web' }))?.status?.conditions?.find(
    ({ type }) => type === 'Exported',
  );

test('MCS-23 a cluster that does not import a service within a second is named', async () => {
  await using stack = new AsyncDisposableStack();
  const [east, west] = await startClusters(['east', 'west'], stack);
  assert.ok(east && west);
  let aheadMs = 0;
  const clock = { ...systemClock, elapsed: () => systemClock.elapsed() + aheadMs };
  await join([east, west], stack, { clock, probeTimes: { renewMs: 200, durationMs: 60_000 } }).part.ready;
  aheadMs = 20_000; // a new controller waits for longer
  const { promise: end, resolve } = Promise.withResolvers<void>();
  west.fault = ({ method }) => (method === 'POST' ? end : undefined);
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  const condition = await until('the condition names the cluster', () => exportedIn(east));
  assert.equal(condition.status, 'False');
  assert.match(condition.message ?? '', /west/);
  resolve();
  await until('the export succeeded', async () => (await exportedIn(east))?.status === 'True');
});
