import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { ApiRequest, Reply } from '../reply.ts';
import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { ActiveFlows } from './active-flows.ts';
import type { Admission } from './flow-control.ts';
import { FlowControl } from './flow-control.ts';
import type { RequestClass } from './classify.ts';
import { defaultLimits, levelLimits } from './options.ts';

const write = (flow: string): RequestClass => ({ level: 'mutating', flow, isMutating: true });
const immediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

suite('flow control', () => {
  test('admits requests at once while seats are free, and counts running requests', () => {
    using control = new FlowControl(defaultLimits);
    assert.equal(control.enter(write('alice'), 1), 'admitted');
    assert.equal(control.enter({ level: 'readOnly', flow: 'alice', isMutating: false }, 1), 'admitted');
    assert.deepEqual({ ...control.inFlight }, { mutating: 1, readOnly: 1 });
    control.leave(write('alice'), 1);
    assert.deepEqual({ ...control.inFlight }, { mutating: 0, readOnly: 1 });
  });

  test('queues a request and starts it when another leaves', async () => {
    using control = new FlowControl({ ...defaultLimits, maxMutatingRequestsInflight: 1 });
    assert.equal(control.enter(write('alice'), 1), 'admitted');
    const entry = control.enter(write('bob'), 1);
    assert.notEqual(entry, 'admitted');
    assert.equal(control.inFlight.mutating, 1, 'a queued request is not running');
    control.leave(write('alice'), 1);
    assert.equal(await entry, 'admitted');
    const { waits, dispatched } = Array.from(control.levels()).find(({ name }) => name === 'mutating') ?? {};
    assert.deepEqual([waits?.count, dispatched], [1, 2]);
  });

  test('rejects requests when the queue is full, and all waiting requests when it is disposed', async () => {
    const control = new FlowControl({ ...defaultLimits, maxMutatingRequestsInflight: 1 });
    assert.equal(control.enter(write('alice'), 1), 'admitted');
    const entries: Admission[] = Array.from({ length: 300 }, () => control.enter(write('bob'), 1));
    assert.equal(await entries[299], 'queue-full');
    control[Symbol.dispose]();
    assert.equal(await entries[0], 'time-out');
  });

  test('administrators and other users do not wait for each other', async () => {
    using control = new FlowControl({ ...defaultLimits, maxMutatingRequestsInflight: 1 });
    const admin: RequestClass = { level: 'exempt', flow: 'admin', isMutating: true };
    const entries = Array.from({ length: 100 }, () => control.enter(admin, 1));
    assert.equal(control.enter(write('alice'), 1), 'admitted');
    for (const entry of entries) assert.equal(await entry, 'admitted');
    assert.equal(control.enter({ level: 'leases', flow: 'part', isMutating: true }, 1), 'admitted');
  });

  test('spreads the requests of an administrator over several turns of the event loop', async () => {
    using control = new FlowControl(defaultLimits);
    const admin: RequestClass = { level: 'exempt', flow: 'admin', isMutating: false };
    let started = 0;
    for (let index = 0; index < 500; index++) {
      void Promise.resolve(control.enter(admin, 1)).then(() => started++); // cannot reject
    }
    const most = levelLimits(defaultLimits).exempt.seatsPerTurn.total;
    for (let turn = 1; started < 500; turn++) {
      assert.ok(started <= turn * most, `${started} in ${turn} turns`);
      await immediate();
    }
  });

  test('spreads the requests of many users over several turns of the event loop', async () => {
    using control = new FlowControl(defaultLimits);
    let started = 0;
    for (let index = 0; index < 200; index++) {
      const request: RequestClass = { level: 'readOnly', flow: `user-${index}`, isMutating: false };
      void Promise.resolve(control.enter(request, 1)).then(() => started++); // cannot reject
    }
    const most = levelLimits(defaultLimits).readOnly.seatsPerTurn.total;
    for (let turn = 1; started < 200; turn++) {
      assert.ok(started <= turn * most, `${started} in ${turn} turns`);
      await immediate();
    }
  });

  test('sends one reply of a flow per turn of the event loop while other flows are active', async () => {
    const activeFlows = new ActiveFlows(() => 0); // all flows stay active
    using control = new FlowControl(defaultLimits, activeFlows);
    activeFlows.record('bob');
    assert.equal(control.startReply(write('alice')), 'now');
    let answered = 0;
    for (let index = 0; index < 3; index++) {
      const turn = control.startReply(write('alice'));
      assert.notEqual(turn, 'now');
      void Promise.resolve(turn).then(() => answered++); // cannot reject
    }
    assert.equal(control.startReply(write('bob')), 'now');
    const seen: number[] = [];
    while (answered < 3) {
      await immediate();
      seen.push(answered);
    }
    assert.deepEqual(seen, [1, 2, 3]);
  });
});

suite('in a server', () => {
  const request = (user: string, method: string, url: string): ApiRequest => ({
    method,
    url,
    header: () => undefined,
    body: () => Promise.resolve(Buffer.from('{}')),
    user: { name: user, uid: '', groups: ['system:authenticated', 'system:masters'] },
  });

  test('a list keeps its seats until it is sent', async () => {
    await using server = await testServer();
    const inFlight = async (): Promise<string | undefined> =>
      /apiserver_current_inflight_requests\{request_kind="readOnly"\} (\d+)/.exec(
        (await server.ask('GET', '/metrics')).text,
      )?.[1];
    const reply: Reply = await server.handle(request('alice', 'GET', '/api/v1/namespaces'));
    assert.ok('release' in reply);
    assert.equal(await inFlight(), '2', 'the list and the request for metrics');
    reply.release?.();
    reply.release?.();
    assert.equal(await inFlight(), '1');
  });

  test('returns 429 to a user with the maximum number of watches', async () => {
    await using server = await testServer({ limits: { maxWatchesPerUser: 1 } });
    await grantAll(server);
    const alice = server.as({ name: 'alice', groups: ['everything'] });
    const watch = await alice.watch('/api/v1/namespaces?watch=1');
    const refused = await alice.ask('GET', '/api/v1/namespaces?watch=1');
    assert.equal(refused.status, 429);
    assert.equal(refused.text, 'Too many requests, please try again later.\n');
    assert.equal(refused.headers['Retry-After'], '1');
    const bob = await server.as({ name: 'bob', groups: ['everything'] }).watch('/api/v1/namespaces?watch=1');
    watch.close();
    (await alice.watch('/api/v1/namespaces?watch=1')).close();
    bob.close();
  });
});

test('returns 429 to a user whose clients do not read, except for Leases', async () => {
  await using server = await testServer({ limits: { maxUnsentBytesPerUser: 1000 } });
  await grantAll(server);
  const [alice, bob] = ['alice', 'bob'].map((name) => server.as({ name, groups: ['everything'] }));
  assert.ok(alice !== undefined && bob !== undefined);
  const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
  await alice.ask('POST', leases, { body: { metadata: { name: 'part' } } });
  const held = server.context.unsent.open('alice', { pendingBytes: 1000, abort: () => undefined });
  held.add(1000);
  const refused = await alice.ask('GET', '/api/v1/namespaces');
  assert.deepEqual([refused.status, refused.headers['Retry-After']], [429, '1']);
  assert.equal((await alice.ask('GET', '/api/v1/namespaces?watch=1')).status, 429);
  assert.equal((await alice.ask('DELETE', '/api/v1/namespaces/none')).status, 429);
  assert.equal((await alice.ask('GET', `${leases}/part`)).status, 200);
  assert.equal((await bob.ask('GET', '/api/v1/namespaces')).status, 200);
  held.subtract(1000);
  held.close();
  assert.equal((await alice.ask('GET', '/api/v1/namespaces')).status, 200);
});

suite('impersonation does not widen the share of a user', () => {
  const names = Array.from({ length: 20 }, (_, index) => `invented-${index}`);
  const impersonated = (name: string, url: string): ApiRequest => ({
    method: 'GET',
    url,
    header: () => undefined,
    body: () => Promise.resolve(Buffer.from('')),
    user: { name: 'alice', uid: '', groups: ['everything', 'system:authenticated'] },
    impersonation: { user: name, groups: ['everything'], extra: new Map(), uid: '' },
  });

  test('lists under way are counted for the authenticated user', async () => {
    await using server = await testServer({ limits: { maxRequestsInflight: 8 } }); // one seat for each user
    await grantAll(server);
    let answered = 0;
    const replies = names.map(async (name) => {
      const reply = await server.handle(impersonated(name, '/api/v1/namespaces'));
      answered++;
      return reply;
    });
    const first = await Promise.race(replies);
    const bob = server.as({ name: 'bob', groups: ['everything'] });
    for (let turn = 0; turn < 50; turn++) assert.equal((await bob.ask('GET', '/api/v1/namespaces')).status, 200);
    assert.equal(answered, 1, 'the others wait until the first list is sent');
    const release = (reply: Reply): void => ('release' in reply ? reply.release?.() : undefined);
    release(first);
    for (const reply of replies) release(await reply);
  });

  test('watches are counted for the authenticated user', async () => {
    await using server = await testServer({ limits: { maxWatchesPerUser: 3 } });
    await grantAll(server);
    const statuses: number[] = [];
    for (const name of names.slice(0, 5)) {
      const reply = await server.handle(impersonated(name, '/api/v1/namespaces?watch=1'));
      statuses.push(reply.status);
      if ('stream' in reply) reply.stream({ write: () => true, onDrain() {}, onClose() {}, end() {}, abort() {} });
    }
    assert.deepEqual(statuses, [200, 200, 200, 429, 429]);
  });
});

const grantAll = (server: TestServer): Promise<unknown> =>
  server.ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    body: {
      metadata: { name: 'everything' },
      subjects: [{ kind: 'Group', name: 'everything', apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { kind: 'ClusterRole', name: 'cluster-admin', apiGroup: 'rbac.authorization.k8s.io' },
    },
  });
