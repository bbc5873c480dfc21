// LB-22: a thousand Services come, change and go while a cloud fails a fifth of its calls.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { inProcess } from '../../src/client/in-process.ts';
import { TestCluster, testPools } from '../../src/loadbalancer/cluster.fixture.ts';
import { cloudNamed } from '../../src/loadbalancer/providers/clouds.ts';
import { SimulatedProvider } from '../../src/loadbalancer/simulated/provider.ts';
import { storeIn } from '../../src/loadbalancer/simulated/store.ts';
import { calm, eagerClock, seeded, storm, wrongIn } from '../../src/loadbalancer/simulated/storm.fixture.ts';
import { testServer } from '../../src/server/testing/server.ts';

const admin = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };

test('LB-22 a thousand Services at a cloud that fails: the end is exact, nothing leaks, calls are bounded', async () => {
  const seed = Date.now() % 100_000;
  await using server = await testServer({ serviceCidrs: ['10.0.0.0/16'], nodePorts: { from: 20_000, to: 40_000 } });
  const cluster = new TestCluster(() => inProcess((request) => server.handle({ ...request, user: admin })));
  const cloud = cloudNamed('azure');
  assert.ok(cloud);
  const random = seeded(seed);
  const provider = new SimulatedProvider({
    cloud,
    era: 'today',
    store: storeIn(cluster.user),
    pools: testPools,
    isMixingAllowed: true,
    failures: 0.2,
    clock: eagerClock,
    random,
  });
  await using running = cluster.run(provider, { clock: eagerClock, random });
  await running.ready;
  const changes = await storm(cluster, 1000, random);
  await calm(() => wrongIn(cluster, 'azure', 'today'), `seed ${seed}`, 120_000);
  const perChange = provider.calls / changes;
  assert.ok(perChange < 40, `${perChange} calls a change (seed ${seed})`);
  const before = provider.calls;
  await cluster.quiet(500);
  assert.equal(provider.calls, before);
});
