import assert from 'node:assert/strict';
import { test } from 'node:test';

import { leaseKind } from '../api/kinds/coordination/lease/kind.ts';
import { failure } from '../api/errors.ts';
import { inProcess } from '../client/in-process.ts';
import type { ApiRequest } from '../client/transport.ts';
import type { TestServer } from '../server/testing/server.ts';
import { testServer } from '../server/testing/server.ts';
import { until } from '../server/testing/until.ts';
import { TestCluster, quiet } from './testing/cluster.ts';

const user = { name: 'controllers', uid: '', groups: ['system:masters', 'system:authenticated'] };

const clusterOf = (server: TestServer): TestCluster =>
  new TestCluster(() => inProcess((request) => server.handle({ ...request, user })));

// Lease durations are whole seconds, so a takeover after a crash takes at least one. A released lease is taken over at once.
const brief = { leaseDurationMs: 1000, renewDeadlineMs: 600, retryPeriodMs: 100 };
const long = { leaseDurationMs: 60_000, renewDeadlineMs: 40_000, retryPeriodMs: 100 };
const standing = (identity: string, times = brief) => ({ leaderElection: { identity, ...times } });

const leaderOf = async (cluster: TestCluster): Promise<string | undefined> =>
  (await cluster.user.find(leaseKind, { namespace: 'kube-system', name: 'fairlead-controllers' }))?.spec.holderIdentity;

test('one of two replicas is the leader, and the other takes over without repeating writes', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  for (const name of ['a', 'b', 'c']) await cluster.service(name);
  const first = cluster.start(standing('first', long), { who: 'first' });
  await first.ready;
  await using second = cluster.start(standing('second', long), { who: 'second' });
  await second.ready;
  assert.deepEqual(second.problems(), []);
  await until('three placeholders', async () => (await cluster.slices('c')).length === 1);
  await quiet(cluster);
  assert.deepEqual(new Set(cluster.writes.map(({ who }) => who)), new Set(['first']));
  assert.equal(cluster.takeWrites().length, 6, 'a slice and Endpoints for each Service');
  assert.match(await first.metrics.metrics(), /leader_election_master_status\{name="fairlead-controllers"\} 1/);
  await first[Symbol.asyncDispose]();
  await until('the second is leader', async () => (await leaderOf(cluster)) === 'second');
  await quiet(cluster, 300);
  assert.deepEqual(cluster.takeWrites(), [], 'the new leader writes nothing in a steady state');
  await cluster.pod('one', 'a', { ip: '10.1.0.1' });
  await until('the second writes', async () => (await cluster.addresses('a')) === '10.1.0.1');
});

test('the next leader completes the writes of a killed leader', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const services = Array.from({ length: 20 }, (_, index) => `s${index}`);
  for (const name of services) await cluster.service(name);
  for (const name of services) await cluster.pod(`${name}-pod`, name, { ip: '10.1.0.1' });
  await using first = cluster.start(standing('first'), { who: 'first', dieAfterWrites: 7 });
  await until('the first is killed', () => cluster.writes.length >= 7);
  assert.notDeepEqual(first.problems(), []);
  await using second = cluster.start(standing('second'), { who: 'second' });
  await until('the second is leader', async () => (await leaderOf(cluster)) === 'second');
  await second.ready;
  for (const name of services) {
    await until(`${name} has the address of its Pod`, async () => (await cluster.addresses(name)) === '10.1.0.1');
    await until(`${name} has Endpoints`, () => cluster.endpoints(name));
  }
  await quiet(cluster);
  for (const name of services) assert.equal((await cluster.slices(name)).length, 1, `${name} has one slice`);
  // Writes whose responses arrived after the kill are neither counted nor repeated.
  assert.ok(cluster.writes.length <= 40, 'no write is repeated');
});

test('a leader that cannot renew its lease stops, and leads again when it can', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  await cluster.service('web');
  let isCut = false;
  const injectFault = ({ path }: ApiRequest): void => {
    if (isCut && path.includes('/leases/')) throw failure({ code: 503, reason: 'ServiceUnavailable', message: 'cut' });
  };
  await using running = cluster.start(standing('only'), { injectFault });
  await running.ready;
  await until('a slice', async () => (await cluster.slices('web')).length === 1);
  const leads = async (value: 0 | 1): Promise<boolean> =>
    (await running.metrics.metrics()).includes(`leader_election_master_status{name="fairlead-controllers"} ${value}`);
  isCut = true;
  await until('it is no longer leader', () => leads(0));
  await quiet(cluster);
  cluster.takeWrites();
  await cluster.pod('one', 'web', { ip: '10.1.0.1' });
  await quiet(cluster);
  assert.deepEqual(cluster.takeWrites(), [], 'a replica without the lease writes nothing');
  isCut = false;
  await until('it writes again', async () => (await cluster.addresses('web')) === '10.1.0.1');
});
