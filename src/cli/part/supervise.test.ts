import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import type { RunningPart } from '../../client/part.ts';
import { ManualClock, settled } from '../../client/testing/clocks.ts';
import type { SuperviseOptions } from './supervise.ts';
import { supervise } from './supervise.ts';

const log = pino({ level: 'silent' });

/** A part that the test controls. */
class TestPart implements RunningPart {
  readonly #ready = Promise.withResolvers<void>();
  readonly #failed = Promise.withResolvers<never>();
  readonly ready = this.#ready.promise;
  readonly failed = this.#failed.promise;
  troubles: readonly string[] = [];
  isDisposed = false;

  becomeReady = (): void => this.#ready.resolve();
  cannotStart = (why: string): void => this.#ready.reject(new Error(why));
  fail = (why: string): void => this.#failed.reject(new Error(why));
  problems = (): readonly string[] => this.troubles;

  async [Symbol.asyncDispose](): Promise<void> {
    this.isDisposed = true;
  }
}

function setUp(options: Partial<SuperviseOptions> = {}): {
  clock: ManualClock;
  runs: TestPart[];
  part: ReturnType<typeof supervise>;
} {
  const clock = new ManualClock();
  const runs: TestPart[] = [];
  const start = (): TestPart => {
    const run = new TestPart();
    runs.push(run);
    return run;
  };
  return { clock, runs, part: supervise({ start, log, clock, random: () => 1, ...options }) };
}

test('a part is starting until it is ready, and then reports its problems', async () => {
  const { runs, part } = setUp();
  assert.deepEqual(part.problems(), ['the component is starting']);
  runs[0]?.becomeReady();
  await part.ready;
  assert.deepEqual(part.problems(), []);
  if (runs[0] !== undefined) runs[0].troubles = ['Services have not been listed yet'];
  assert.deepEqual(part.problems(), ['Services have not been listed yet']);
  await part[Symbol.asyncDispose]();
  assert.equal(runs[0]?.isDisposed, true);
  assert.equal(runs.length, 1);
});

test('a failed part is disposed of and restarted with exponential backoff', async () => {
  const { clock, runs, part } = setUp();
  runs[0]?.becomeReady();
  await part.ready;
  for (const [index, waitMs] of [1000, 2000, 4000].entries()) {
    runs[index]?.fail(`bug ${index}`);
    await settled();
    assert.equal(runs[index]?.isDisposed, true);
    assert.deepEqual(part.problems(), [`the component failed and is restarted: bug ${index}`]);
    await clock.advance(waitMs - 1);
    assert.equal(runs.length, index + 1);
    await clock.advance(1);
    assert.equal(runs.length, index + 2);
    runs[index + 1]?.becomeReady();
    await settled();
    assert.deepEqual(part.problems(), []);
  }
  assert.equal(part.restarts, 3);
  await clock.advance(60_000); // long enough that it counts as well again
  runs[3]?.fail('once more');
  await settled();
  assert.equal(clock.nextMs, 1000);
  await part[Symbol.asyncDispose]();
  assert.equal(runs.length, 4, 'a wait ends with it');
});

test('a failed restart is retried', async () => {
  const { clock, runs, part } = setUp();
  runs[0]?.becomeReady();
  await part.ready;
  runs[0]?.fail('once');
  await clock.advance(1000);
  runs[1]?.cannotStart('not yet');
  await clock.advance(2000);
  assert.equal(runs.length, 3);
  await part[Symbol.asyncDispose]();
});

test('a failed first start rejects `ready` and is retried', async () => {
  const { clock, runs, part } = setUp();
  runs[0]?.cannotStart('port 53 is in use');
  await assert.rejects(part.ready, { message: 'port 53 is in use' });
  await settled();
  assert.equal(runs[0]?.isDisposed, true);
  assert.deepEqual(part.problems(), ['the component failed and is restarted: port 53 is in use']);
  await clock.advance(1000);
  runs[1]?.becomeReady();
  await settled();
  assert.deepEqual(part.problems(), []);
  assert.equal(part.restarts, 1);
  await part[Symbol.asyncDispose]();
});

test('a start that throws is retried', async () => {
  const clock = new ManualClock();
  let starts = 0;
  const start = (): RunningPart => {
    starts++;
    throw new Error('bug: nothing there');
  };
  const part = supervise({ log, start, clock, random: () => 1 });
  await assert.rejects(part.ready, { message: 'bug: nothing there' });
  await settled();
  await clock.advance(1000);
  assert.equal(starts, 2);
  await part[Symbol.asyncDispose]();
});

test('can be stopped before it is ready', async () => {
  const { runs, part } = setUp();
  await part[Symbol.asyncDispose]();
  assert.equal(runs[0]?.isDisposed, true);
});

test('a first start that fails is not retried if the caller reports it', async () => {
  const { clock, runs, part } = setUp({ retriesFirstStart: false });
  runs[0]?.cannotStart('the port is in use');
  await assert.rejects(part.ready, { message: 'the port is in use' });
  await clock.advance(60_000);
  assert.equal(runs.length, 1);
  await part[Symbol.asyncDispose]();

  const other = setUp({ retriesFirstStart: false });
  other.runs[0]?.becomeReady();
  await other.part.ready;
  other.runs[0]?.fail('later');
  await settled();
  await other.clock.advance(1000);
  assert.equal(other.runs.length, 2, 'a later failure is retried');
  await other.part[Symbol.asyncDispose]();
});
