// LB-22: creates, changes and deletes a thousand Services while a cloud fails 20 % of its calls.
import { test } from 'node:test';

import { clusterOf } from '../../src/loadbalancer/testing/cluster.ts';
import { runStorm } from '../../src/loadbalancer/providers/simulated/testing/storm.ts';
import { testServer } from '../../src/server/testing/server.ts';

test('LB-22 a thousand Services at a failing cloud converge without leaks and with bounded calls', async () => {
  await using server = await testServer({ serviceCidrs: ['10.0.0.0/16'], nodePorts: { from: 20_000, to: 40_000 } });
  const seed = Date.now() % 100_000;
  await runStorm(clusterOf(server), { cloudName: 'azure', services: 1000, seed, deadlineMs: 120_000 });
});
