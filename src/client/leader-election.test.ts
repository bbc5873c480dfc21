import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { StatusError } from '../api/errors.ts';
import { conflict, notFound } from '../api/errors.ts';
import type { Lease } from '../api/kinds/coordination/lease/kind.ts';
import { leaseKind } from '../api/kinds/coordination/lease/kind.ts';
import { testServer } from '../server/testing/server.ts';
import { until } from '../server/testing/until.ts';
import { Client } from './client.ts';
import { inProcess } from './in-process.ts';
import type { ElectionOptions } from './leader-election.ts';
import { LeaderElection } from './leader-election.ts';
import { ManualClock, settled } from './testing/clocks.ts';
import type { ApiResponse, Transport } from './transport.ts';

const lease = { namespace: 'kube-system', name: 'controllers' };
const subject = { group: 'coordination.k8s.io', resource: 'leases', name: lease.name };

/** An API server with one lease. */
class LeaseServer {
  stored: Lease | undefined;
  writes = 0;

  transport(isCut: () => boolean): Transport {
    return {
      request: async ({ method, body = '', signal }) => {
        if (isCut()) {
          await new Promise((resolve) => signal?.addEventListener('abort', resolve));
          throw signal?.reason;
        }
        return this.#answer(method, body);
      },
      stream: () => assert.fail('no stream was expected'),
      [Symbol.dispose]: () => {},
    };
  }

  #answer(method: string, body: string): ApiResponse {
    const refuse = ({ status }: StatusError): ApiResponse => ({
      status: status.code ?? 0,
      headers: {},
      body: JSON.stringify(status),
    });
    if (method === 'GET' && this.stored === undefined) return refuse(notFound(subject));
    if (method !== 'GET') {
      const given = JSON.parse(body) as Lease;
      if (given.metadata.resourceVersion !== this.stored?.metadata.resourceVersion)
        return refuse(conflict(subject, 'x'));
      this.stored = { ...given, metadata: { ...lease, resourceVersion: String(++this.writes) } };
    }
    return { status: 200, headers: {}, body: JSON.stringify(this.stored) };
  }
}

interface Candidate extends AsyncDisposable {
  readonly state: { isCut: boolean; isActing: boolean };
  readonly election: LeaderElection;
  stop(): void;
}

function candidate(server: LeaseServer, clock: ManualClock, options: Partial<ElectionOptions> = {}): Candidate {
  const state = { isCut: false, isActing: false };
  const client = new Client(server.transport(() => state.isCut));
  const election = new LeaderElection({ client, lease, identity: 'a', clock, random: () => 0.5, ...options });
  const stop = new AbortController();
  const running = election.run(async (signal) => {
    state.isActing = true;
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        state.isActing = false;
        resolve();
      });
    });
  }, stop.signal);
  return {
    state,
    election,
    stop: () => stop.abort(),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await settled();
      await clock.advance(60_000); // for requests whose response never arrives
      await running;
    },
  };
}

test('the first candidate leads, renews every two seconds, and releases the lease when it stops', async () => {
  const server = new LeaseServer();
  const clock = new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
  await using first = candidate(server, clock);
  await settled();
  assert.equal(first.state.isActing, true);
  assert.deepEqual(server.stored?.spec, {
    holderIdentity: 'a',
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:00.000000Z',
    leaseTransitions: 0,
  });
  await using second = candidate(server, clock, { identity: 'b' });
  await clock.advance(20_000);
  assert.equal(server.stored?.spec.renewTime, '2026-01-01T00:00:20.000000Z');
  assert.equal(server.writes, 11);
  assert.equal(second.state.isActing, false);

  first.stop();
  await settled();
  assert.deepEqual([first.state.isActing, server.stored?.spec.holderIdentity], [false, '']);
  await clock.advance(5000);
  assert.equal(second.state.isActing, true);
  assert.equal(server.stored?.spec.leaseTransitions, 1);
});

test('a leader without connection stops after ten seconds, and another takes over after fifteen', async () => {
  const server = new LeaseServer();
  const clock = new ManualClock();
  const leaders: string[] = [];
  await using first = candidate(server, clock);
  await settled();
  await using second = candidate(server, clock, { identity: 'b', onLeader: (identity) => void leaders.push(identity) });
  await clock.advance(2000);
  first.state.isCut = true;
  await clock.advance(9999);
  assert.equal(first.state.isActing, true);
  await clock.advance(1);
  assert.equal(first.state.isActing, false);
  await clock.advance(4999);
  assert.equal(second.state.isActing, false);
  await clock.advance(6000);
  assert.equal(second.state.isActing, true);
  assert.deepEqual(leaders, ['a', 'b']);

  first.state.isCut = false;
  await clock.advance(20_000);
  assert.equal(first.state.isActing, false);
  second.stop();
  await clock.advance(10_000);
  assert.equal(first.state.isActing, true);
});

test('a leader that reads another holder in the lease stops at once', async () => {
  const server = new LeaseServer();
  const clock = new ManualClock();
  await using first = candidate(server, clock);
  await settled();
  const spec = { holderIdentity: 'b', leaseDurationSeconds: 15 };
  server.stored = { metadata: { ...lease, resourceVersion: '77' }, spec };
  await clock.advance(2000);
  assert.equal(first.state.isActing, false);
});

test('ends the election and releases the lease when the work ends or fails', async () => {
  const server = new LeaseServer();
  const options = { client: new Client(server.transport(() => false)), lease, identity: 'a', clock: new ManualClock() };
  const signal = new AbortController().signal;
  await new LeaderElection(options).run(async () => {}, signal);
  assert.equal(server.stored?.spec.holderIdentity, '');
  const failing = new LeaderElection(options).run(() => Promise.reject(new Error('broken')), signal);
  await assert.rejects(failing, { message: 'broken' });
  assert.equal(server.stored?.spec.holderIdentity, '');
});

test('rejects unsafe durations', () => {
  const client = new Client(new LeaseServer().transport(() => false));
  const wrong = [{ renewDeadlineMs: 15_000 }, { retryPeriodMs: 9000 }];
  for (const times of wrong) {
    assert.throws(() => new LeaderElection({ client, lease, identity: 'a', ...times }), /must be greater than/);
  }
});

test('with any sequence of lost connections there are never two leaders, and finally one', async () => {
  const step = fc.record({ who: fc.nat(2), isCut: fc.boolean(), pass: fc.integer({ min: 1, max: 12_000 }) });
  const property = fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
    const server = new LeaseServer();
    const clock = new ManualClock();
    await using a = candidate(server, clock);
    await using b = candidate(server, clock, { identity: 'b' });
    await using c = candidate(server, clock, { identity: 'c' });
    const all = [a, b, c];
    const acting = (): number => all.filter(({ state }) => state.isActing).length;
    for (const { who, isCut, pass } of steps) {
      const chosen = all[who];
      if (chosen !== undefined) chosen.state.isCut = isCut;
      for (let left = pass; left > 0; left -= 500) {
        await clock.advance(Math.min(500, left));
        assert.ok(acting() <= 1, `${acting()} lead`);
      }
    }
    for (const { state } of all) state.isCut = false;
    await clock.advance(60_000);
    assert.equal(acting(), 1);
  });
  await fc.assert(property, { numRuns: 15 });
});

test('a second candidate takes over on a real server', async () => {
  await using server = await testServer();
  const user = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };
  const client = new Client(inProcess((request) => server.handle({ ...request, user })));
  const times = { leaseDurationMs: 5000, renewDeadlineMs: 2000, retryPeriodMs: 2 };
  const start = (identity: string): { readonly election: LeaderElection; stop(): Promise<void> } => {
    const election = new LeaderElection({ client, lease, identity, ...times });
    const stop = new AbortController();
    const running = election.run(
      (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
      stop.signal,
    );
    return {
      election,
      stop: () => {
        stop.abort();
        return running;
      },
    };
  };
  const a = start('a');
  await until('a leads', () => a.election.isLeader);
  const b = start('b');
  await a.stop();
  await until('b leads', () => b.election.isLeader);
  assert.equal((await client.get(leaseKind, lease)).spec.leaseTransitions, 1);
  await b.stop();
});
