import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { ManualClock } from '../../client/testing/clocks.ts';
import type { Member } from '../member/member.ts';
import { MemberQueues } from './member-queues.ts';

/** Queues of the members east and west, and the reconciles that were started. */
function setUp(work: (id: string, key: string) => Promise<void> = async () => undefined): {
  readonly queues: MemberQueues;
  readonly clock: ManualClock;
  readonly runs: string[];
  readonly failures: string[];
} {
  const clock = new ManualClock();
  const runs: string[] = [];
  const failures: string[] = [];
  const queues = new MemberQueues({
    controller: 'imports',
    clock,
    log: pino({ level: 'silent' }),
    windowMs: 100,
    reconcile: async ({ id }, key) => {
      runs.push(`${id} ${key}`);
      await work(id, key);
      return undefined;
    },
    onFailure: ({ id }, key, failure) => void failures.push(`${id} ${key} ${failure.failures}`),
  });
  const { signal } = new AbortController();
  // A cast: queues read the id and the state only.
  for (const id of ['east', 'west']) queues.open({ id, probe: { state: 'alive' } } as unknown as Member, signal);
  return { queues, clock, runs, failures };
}

test('combines changes of a service within the window, and reconciles the latest state', async () => {
  const { queues, clock, runs } = setUp();
  for (let change = 0; change < 3; change++) queues.add('east', 'shop/web');
  await clock.advance(0);
  assert.deepEqual(runs, ['east shop/web']);
  queues.add('east', 'shop/web');
  queues.add('east', 'shop/web');
  await clock.advance(50);
  assert.equal(runs.length, 1);
  await clock.advance(50);
  assert.deepEqual(runs, ['east shop/web', 'east shop/web']);
  await queues.closeAll();
});

test('a member that does not answer delays no other member', async () => {
  const answer = Promise.withResolvers<void>();
  const { queues, clock, runs } = setUp((id) => (id === 'east' ? answer.promise : Promise.resolve()));
  for (let service = 0; service < 20; service++) {
    for (const id of ['east', 'west']) queues.add(id, `shop/${service}`);
  }
  await clock.advance(0);
  assert.equal(runs.filter((run) => run.startsWith('west')).length, 20);
  assert.equal(runs.filter((run) => run.startsWith('east')).length, 8, 'the workers of one member');
  assert.deepEqual(
    [...queues.lengths],
    [
      ['east', 12],
      ['west', 0],
    ],
  );
  answer.resolve();
  await queues.closeAll();
});

test('retries a failing service with backoff, and reports each failure', async () => {
  let isBroken = true;
  const { queues, clock, runs, failures } = setUp(async () => {
    if (isBroken) throw new Error('forbidden');
  });
  queues.add('west', 'shop/web');
  await clock.advance(100);
  const early = runs.length;
  assert.deepEqual(failures.slice(0, 3), ['west shop/web 1', 'west shop/web 2', 'west shop/web 3']);
  assert.ok(early < 8, `${early} runs in 100 ms`);
  isBroken = false;
  await clock.advance(30_000);
  assert.equal(runs.length, failures.length + 1);
  await queues.closeAll();
});

test('close waits for running reconciles, and nothing is enqueued afterwards', async () => {
  const answer = Promise.withResolvers<void>();
  const { queues, clock, runs } = setUp(() => answer.promise);
  queues.add('east', 'shop/web');
  await clock.advance(0);
  let isClosed = false;
  const closing = queues.close('east').then(() => (isClosed = true));
  await clock.advance(0);
  assert.equal(isClosed, false);
  answer.resolve();
  await closing;
  queues.add('east', 'shop/api');
  await clock.advance(1000);
  assert.deepEqual(runs, ['east shop/web']);
  assert.deepEqual(
    queues.members.map(({ id }) => id),
    ['west'],
  );
  await queues.closeAll();
});
