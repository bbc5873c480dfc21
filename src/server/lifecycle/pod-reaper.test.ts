import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import { testServer } from '../testing/server.ts';
import { PodReaper } from './pod-reaper.ts';

const pods = '/api/v1/namespaces/default/pods';
const pod = {
  metadata: { name: 'web' },
  spec: { nodeName: 'node-1', terminationGracePeriodSeconds: 10, containers: [{ name: 'web', image: 'web' }] },
};

test('removes a Pod on a node without an agent after its grace period', async () => {
  await using server = await testServer();
  await server.ask('POST', pods, { body: pod });
  await server.ask('DELETE', `${pods}/web`);
  mock.timers.enable({ apis: ['setInterval'] });
  let now = server.context.clock();
  const reaper = new PodReaper({ ...server.context, clock: () => now });
  try {
    mock.timers.tick(1000);
    assert.equal((await server.ask('GET', `${pods}/web`)).status, 200, 'it may still terminate');
    now += 16_000;
    const watch = await server.watch(`${pods}?watch=1`);
    mock.timers.tick(1000);
    const events = await watch.take(2);
    assert.equal(events[1]?.type, 'DELETED');
    watch.close();
  } finally {
    await reaper.close();
    mock.timers.reset();
  }
});
