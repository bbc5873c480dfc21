import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';

import type { QueueLimits, RejectionReason } from './fair-queue.ts';
import { FairQueue } from './fair-queue.ts';

const roomy: QueueLimits = {
  seats: 100,
  seatsPerFlow: 100,
  seatsPerTurn: { shared: 100, exclusive: 100, total: Infinity },
  waiting: 100,
  waitingPerFlow: 100,
};

/** A queue that logs its decisions: `alice1` is alice's first request. */
class Run {
  readonly limits: QueueLimits;
  readonly queue: FairQueue;
  readonly log: string[] = [];
  /** Running requests in the order in which they started. */
  readonly running: { readonly flow: string; readonly cost: number; readonly name: string }[] = [];
  readonly waiting: { readonly flow: string; readonly cost: number; readonly name: string }[] = [];
  readonly startedInTurn = new Map<string, number>();
  readonly #counts = new Map<string, number>();
  isTurnScheduled = false;

  constructor(limits: Partial<QueueLimits>) {
    this.limits = { ...roomy, ...limits };
    this.queue = new FairQueue(this.limits, {
      scheduleNextTurn: () => void (this.isTurnScheduled = true),
      hasOtherFlows: (flow) => flow !== 'solo',
    });
  }

  request(flow: string, cost = 1, now = 0): void {
    const count = (this.#counts.get(flow) ?? 0) + 1;
    this.#counts.set(flow, count);
    const request = { flow, cost, name: `${flow}${count}` };
    if (this.queue.enter(flow, cost)) {
      this.#started(request);
      return;
    }
    this.waiting.push(request);
    const waiter = {
      start: (): void => {
        this.waiting.splice(this.waiting.indexOf(request), 1);
        this.#started(request);
      },
      reject: (why: RejectionReason): void => {
        this.waiting.splice(this.waiting.indexOf(request), 1);
        this.log.push(`${request.name} ${why}`);
      },
    };
    this.queue.wait(flow, cost, { waiter, now });
  }

  finish(index = 0): void {
    const [request] = this.running.splice(index, 1);
    if (request !== undefined) this.queue.leave(request.flow, request.cost);
  }

  turn(): void {
    this.isTurnScheduled = false;
    this.startedInTurn.clear();
    this.queue.nextTurn();
  }

  #started(request: { readonly flow: string; readonly cost: number; readonly name: string }): void {
    this.running.push(request);
    this.startedInTurn.set(request.flow, (this.startedInTurn.get(request.flow) ?? 0) + request.cost);
    this.log.push(request.name);
  }
}

/** `alice` sends a request, `alice:5` one of five seats, `done` ends the oldest running request, `turn` begins a new turn. */
function play(limits: Partial<QueueLimits>, script: string): string {
  const run = new Run(limits);
  for (const word of script.split(' ')) {
    const [name = '', cost = '1'] = word.split(':');
    if (name === 'done') run.finish();
    else if (name === 'turn') run.turn();
    else run.request(name, Number(cost));
  }
  return run.log.join(' ');
}

suite('FairQueue', () => {
  const table: readonly { name: string; limits: Partial<QueueLimits>; given: string; want: string }[] = [
    { name: 'starts requests at once while seats are free', limits: {}, given: 'a a b', want: 'a1 a2 b1' },
    {
      name: 'queues a request until a seat is free',
      limits: { seats: 1 },
      given: 'a b done',
      want: 'a1 b1',
    },
    {
      name: 'does not delay a flow behind the backlog of another',
      limits: { seats: 1 },
      given: 'a a a a b done done done done',
      want: 'a1 b1 a2 a3 a4',
    },
    {
      name: 'alternates between flows with a backlog',
      limits: { seats: 1 },
      given: 'a a a a b b b done done done done done done',
      want: 'a1 b1 a2 b2 a3 b3 a4',
    },
    {
      name: 'charges a flow for the cost of its requests',
      limits: { seats: 1 },
      given: 'x a:3 a:3 b b b b b done done done done done done done',
      want: 'x1 a1 b1 b2 b3 a2 b4 b5',
    },
    {
      name: 'limits the seats of one flow',
      limits: { seats: 4, seatsPerFlow: 2 },
      given: 'a a a a b',
      want: 'a1 a2 b1',
    },
    {
      name: 'limits the seats a flow takes in one turn of the event loop',
      limits: { seatsPerTurn: { shared: 2, exclusive: 2, total: Infinity } },
      given: 'a a a a a b turn turn',
      want: 'a1 a2 b1 a3 a4 a5',
    },
    {
      name: 'raises that limit for the only active flow',
      limits: { seatsPerTurn: { shared: 1, exclusive: 3, total: Infinity } },
      given: 'solo solo solo solo a a turn',
      want: 'solo1 solo2 solo3 a1 solo4 a2',
    },
    {
      name: 'limits the seats all flows take in one turn and continues with the earliest due flow',
      limits: { seatsPerTurn: { shared: 2, exclusive: 2, total: 3 } },
      given: 'a b a b c a b d turn turn',
      want: 'a1 b1 a2 b2 c1 d1 b3 a3',
    },
    {
      name: 'starts a request that exceeds the total of a turn when one seat is left in it',
      limits: { seatsPerTurn: { shared: 9, exclusive: 9, total: 3 } },
      given: 'a b c:10 d turn turn',
      want: 'a1 b1 c1 d1',
    },
    {
      name: 'counts finished requests towards the limit of the turn',
      limits: { seatsPerTurn: { shared: 1, exclusive: 1, total: Infinity } },
      given: 'a done a b turn',
      want: 'a1 b1 a2',
    },
    {
      name: 'starts a request that needs more seats than are free',
      limits: { seats: 2 },
      given: 'a b:10 c done done',
      want: 'a1 b1 c1',
    },
    {
      name: 'limits the waiting requests of one flow',
      limits: { seats: 1, waitingPerFlow: 1 },
      given: 'a a a b',
      want: 'a1 a3 queue-full',
    },
    {
      name: 'rejects the newest request of the longest queue when all places are taken',
      limits: { seats: 1, waiting: 3 },
      given: 'a a a a b done done done',
      want: 'a1 a4 queue-full b1 a2 a3',
    },
    {
      name: 'rejects the new request if its flow would then have the longest queue',
      limits: { seats: 1, waiting: 2 },
      given: 'a a b c b',
      want: 'a1 c1 queue-full b2 queue-full',
    },
  ];
  for (const { name, limits, given, want } of table) test(name, () => assert.equal(play(limits, given), want));
});

test('expire rejects requests that have waited too long and keeps the others', () => {
  const run = new Run({ seats: 1 });
  run.request('a');
  for (const now of [10, 20, 30]) run.request('b', 1, now);
  run.request('c', 1, 15);
  run.queue.expire(21);
  assert.deepEqual(run.log, ['a1', 'b1 time-out', 'b2 time-out', 'c1 time-out']);
  run.finish();
  assert.equal(run.log.at(-1), 'b3');
});

test('an idle queue schedules no turns and keeps no flows', () => {
  const run = new Run({ seats: 1 });
  run.request('a');
  run.request('b');
  run.turn();
  assert.equal(run.isTurnScheduled, false, 'leave serves requests that wait for a seat');
  run.finish();
  run.finish();
  assert.equal(run.isTurnScheduled, true);
  run.turn();
  assert.deepEqual([run.isTurnScheduled, run.queue.seats, run.queue.waiting], [false, 0, 0]);
});

suite('properties', () => {
  const limits = fc.record({
    seats: fc.integer({ min: 1, max: 8 }),
    seatsPerFlow: fc.integer({ min: 1, max: 8 }),
    seatsPerTurn: fc.constantFrom(1, 2, 4, Infinity).map((shared) => ({ shared, exclusive: shared, total: Infinity })),
    waiting: fc.integer({ min: 1, max: 20 }),
    waitingPerFlow: fc.integer({ min: 1, max: 10 }),
  });
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ ask: fc.constantFrom('a', 'b', 'c', 'd'), cost: fc.integer({ min: 1, max: 5 }) }),
    },
    { weight: 3, arbitrary: fc.record({ finish: fc.nat(20) }) },
    { weight: 2, arbitrary: fc.constant('turn' as const) },
  );
  const apply = (run: Run, given: typeof step extends fc.Arbitrary<infer T> ? T : never): void => {
    if (given === 'turn') run.turn();
    else if ('ask' in given) run.request(given.ask, given.cost);
    else if (run.running.length > 0) run.finish(given.finish % run.running.length);
  };
  const seatsOf = (run: Run, flow?: string): number =>
    run.running.filter((one) => flow === undefined || one.flow === flow).reduce((sum, { cost }) => sum + cost, 0);
  const flows = ['a', 'b', 'c', 'd'];
  const widest = 5;

  test('limits hold, no request waits that could run, and requests of a flow start in order', () => {
    fc.assert(
      fc.property(limits, fc.array(step, { maxLength: 200 }), (given, steps) => {
        const run = new Run(given);
        for (const each of steps) {
          apply(run, each);
          assert.equal(run.queue.seats, seatsOf(run));
          assert.equal(run.queue.waiting, run.waiting.length);
          assert.ok(seatsOf(run) < given.seats + widest);
          assert.ok(run.waiting.length <= given.waiting);
          for (const flow of flows) {
            const started = run.startedInTurn.get(flow) ?? 0;
            const waits = run.waiting.filter((one) => one.flow === flow).length;
            assert.ok(seatsOf(run, flow) < given.seatsPerFlow + widest);
            assert.ok(started < given.seatsPerTurn.shared + widest);
            assert.ok(waits <= given.waitingPerFlow);
            const couldRun =
              seatsOf(run) < given.seats &&
              seatsOf(run, flow) < given.seatsPerFlow &&
              started < given.seatsPerTurn.shared;
            assert.ok(waits === 0 || !couldRun, `${flow} waits beside free seats`);
          }
        }
        for (const flow of flows) {
          const numbers = run.log
            .filter((name) => /^.\d+$/.test(name) && name.startsWith(flow))
            .map((name) => Number(name.slice(1)));
          assert.deepEqual(
            numbers,
            numbers.toSorted((x, y) => x - y),
            'order within a flow',
          );
        }
      }),
    );
  });

  test('every request starts eventually, and one of a new flow soon', () => {
    fc.assert(
      fc.property(limits, fc.integer({ min: 1, max: 5 }), (given, cost) => {
        const run = new Run({ ...given, waiting: 100, waitingPerFlow: 50 });
        for (let index = 0; index < 40; index++) run.request('heavy', cost);
        run.request('second');
        let finished = 0;
        while (!run.log.includes('second1')) {
          assert.ok(finished++ <= given.seats + 2, 'the new flow gets the next free seat');
          run.finish();
          run.turn();
        }
        while (run.waiting.length > 0) {
          run.finish();
          run.turn();
        }
        assert.equal(run.log.length, 41);
      }),
    );
  });

  test('flows with a constant backlog get equal shares', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 }), (costA, costB) => {
        const run = new Run({ seats: 1, seatsPerTurn: { shared: Infinity, exclusive: Infinity, total: Infinity } });
        const got = { a: 0, b: 0 };
        for (let index = 0; index < 200; index++) {
          while (run.waiting.filter(({ flow }) => flow === 'a').length < 2) run.request('a', costA);
          while (run.waiting.filter(({ flow }) => flow === 'b').length < 2) run.request('b', costB);
          const [first] = run.running;
          if (first?.flow === 'a') got.a += costA;
          else got.b += costB;
          run.finish();
        }
        assert.ok(Math.abs(got.a - got.b) <= 3 * (costA + costB), `${got.a} against ${got.b}`);
      }),
    );
  });
});
