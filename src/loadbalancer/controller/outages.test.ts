// The controller with a failing or slow cloud, and with Services that are replaced during a sync.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { eventKind } from '../../api/kinds/core/event/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { ManualClock, settled } from '../../client/testing/clocks.ts';
import { testServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import { clusterOf } from '../testing/cluster.ts';
import { RetryError } from './provider.ts';
import { RecordingProvider } from './testing/recording-provider.ts';

const start = Date.parse('2026-01-01T00:00:00Z');

test('LB-6 backs off during an outage of an hour, with few Events, and recovers afterwards', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const provider = new RecordingProvider();
  const clock = new ManualClock(start);
  provider.errors.push(...Array.from({ length: 100 }, () => new Error('the cloud is away')));
  await using running = cluster.run(provider, { clock, random: () => 1 });
  await running.ready;
  await cluster.create('80/TCP');
  const waits: number[] = [];
  const tries = async (count: number): Promise<void> => {
    await until(`${count} tries`, () => provider.calls.length === count);
    for (let turn = 0; turn < 20; turn++) await settled();
  };
  for (let seconds = 0, last = 0; seconds <= 3600; seconds += 5) {
    const want = waits.length + 1;
    const isDue = seconds === 0 || seconds - last === Math.min(300, 5 * 2 ** (want - 2));
    if (isDue) {
      await tries(want);
      waits.push(seconds - last);
      last = seconds;
    }
    assert.equal(provider.calls.length, waits.length, `after ${seconds} s`);
    await clock.advance(5000);
  }
  assert.deepEqual(waits.slice(0, 10), [0, 5, 10, 20, 40, 80, 160, 300, 300, 300]);
  provider.errors.length = 0;
  await clock.advance(300_000);
  await until('an address', () => cluster.address());
  await running[Symbol.asyncDispose]();
  const { items } = await cluster.user.list(eventKind, { namespace: 'default' });
  const failures = items.filter(({ reason }) => reason === 'SyncLoadBalancerFailed');
  assert.equal(failures.length, 1, 'one Event, with a count');
  const count = failures[0]?.count ?? 0;
  assert.ok(count >= 5 && count <= waits.length, `reported ${count} times of ${waits.length}`);
});

test('a Service that is deleted during the creation of its load balancer leaves nothing behind', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const provider = new RecordingProvider();
  const clock = new ManualClock(start);
  provider.errors.push(new RetryError('being made', 10_000));
  await using running = cluster.run(provider, { clock });
  await running.ready;
  const { metadata } = await cluster.create('80/TCP');
  await until('it was called', () => provider.calls.length === 1);
  provider.made.add(metadata.uid ?? ''); // the creation is in progress
  await cluster.delete();
  await until('it is gone', async () => (await cluster.get()) === undefined);
  assert.deepEqual(provider.calls, ['ensure web held []', 'remove web']);
  await clock.advance(10_000);
  await settled();
  assert.equal(provider.made.size, 0);
  assert.equal(provider.calls.length, 2, 'and it is not requested any more');
});

test('a replaced Service gets a load balancer of its own after that of the first is deleted', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const provider = new RecordingProvider();
  await using running = cluster.run(provider);
  await running.ready;
  const first = await cluster.create('80/TCP');
  await until('an address', () => cluster.address());
  await cluster.patch('web', { metadata: { finalizers: null } });
  await cluster.user.delete(serviceKind, { namespace: 'default', name: 'web' });
  const second = await cluster.create('81/TCP');
  await until('an address', () => cluster.address());
  await cluster.quiet();
  assert.notEqual(second.metadata.uid, first.metadata.uid);
  assert.deepEqual([...provider.made], [second.metadata.uid]);
  assert.deepEqual(provider.calls, ['ensure web held []', 'remove web', 'ensure web held []']);
});

test('LB-22 deletes orphans as soon as the cloud permits, without a restart', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const provider = new RecordingProvider();
  const clock = new ManualClock(start);
  provider.made.add('uid-protected').add('uid-other');
  const away = new Error('the cloud is away');
  provider.searchErrors.push(away, away);
  provider.errors.push(new Error('it is protected'));
  await using running = cluster.run(provider, { clock, random: () => 1 });
  await running.ready;
  const searched = async (count: number): Promise<void> => {
    await until(`${count} searches`, () => provider.searches === count);
    await settled();
  };
  await searched(1);
  await clock.advance(5000);
  await searched(2);
  await clock.advance(9999);
  await searched(2);
  assert.equal(provider.made.size, 2, 'nothing is known to be there yet');
  await clock.advance(1);
  await until('the one that can be is removed', () => !provider.made.has('uid-other'));
  assert.deepEqual([...provider.made], ['uid-protected']);
  await clock.advance(20_000);
  await until('the other too', () => provider.made.size === 0);
  await clock.advance(600_000);
  await searched(4);
});

test('one of two replicas is the leader; when it stops the other takes over without unnecessary changes', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const providers = [new RecordingProvider(), new RecordingProvider()] as const;
  // Long durations, so that a busy machine does not lose the lease. A stopped replica releases it.
  const times = { leaseDurationMs: 60_000, renewDeadlineMs: 40_000, retryPeriodMs: 50 };
  const leaderElection = { namespace: 'kube-system', name: 'fairlead-loadbalancer', ...times };
  const first = cluster.run(providers[0], { leaderElection });
  await first.ready;
  await using second = cluster.run(providers[1], { leaderElection });
  await second.ready;
  await cluster.create('80/TCP');
  await until('an address', () => cluster.address());
  assert.deepEqual(providers[1].calls, []);
  const before = await cluster.get();
  await first[Symbol.asyncDispose]();
  await cluster.create('80/TCP', { name: 'next' });
  await until('the second acts', () => cluster.address('next'));
  assert.equal((await cluster.get())?.metadata.resourceVersion, before?.metadata.resourceVersion);
  await cluster.delete();
  await until('it is gone', async () => (await cluster.get()) === undefined);
  assert.equal(providers[0].calls.length, 1);
});
