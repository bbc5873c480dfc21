import assert from 'node:assert/strict';
import { test } from 'node:test';

import { clusterOf } from '../../loadbalancer/testing/cluster.ts';
import { testServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import { part } from './part.ts';

test('orphans lists the load balancers whose Service no longer exists, and changes nothing', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const orphans = async (given: Readonly<Record<string, string>>): Promise<string> => {
    let printed = '';
    const code = await part.actions?.['orphans']?.run({
      args: [],
      settings: new Map(Object.entries(given).map(([name, value]) => [name, [value]])),
      streams: { out: (text) => void (printed += text), err: assert.fail },
      connect: async () => cluster.user,
      settingsInCluster: () => assert.fail('the flags of the cluster are not needed'),
    });
    return `${printed}${code}`;
  };
  {
    await using running = cluster.start({ simulation: { cloud: 'gce', era: 'today' } });
    await running.ready;
    for (const name of ['stays', 'goes']) await cluster.create('80/TCP', { name });
    for (const name of ['stays', 'goes']) await until('an address', () => cluster.address(name));
  }
  const simulated = { simulate: 'gce' };
  assert.equal(await orphans(simulated), 'every load balancer of gce has a Service\n0');
  const uid = (await cluster.get('goes'))?.metadata.uid;
  await cluster.patch('goes', { metadata: { finalizers: null } });
  await cluster.delete('goes');
  assert.equal(await orphans(simulated), `DELETED SERVICE  UID\ndefault/goes     ${uid}\n1`);
  assert.equal((await cluster.balancers()).length, 2);
  await assert.rejects(orphans({}), { message: /^no cloud to inspect: pass --provider aws or --simulate CLOUD/ });
});
