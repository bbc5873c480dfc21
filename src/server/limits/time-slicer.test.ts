import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { runToEnd, TimeSlicer, unsliced } from './time-slicer.ts';

const large = 1 << 20;

suite('TimeSlicer', () => {
  test('runs small work at once', () => {
    const work = new TimeSlicer().open(1000);
    assert.equal(work, unsliced);
    assert.equal(
      work.run(() => 7),
      7,
    );
  });

  test('alternates between requests after each stage', async () => {
    const slices = new TimeSlicer();
    const stages: string[] = [];
    const one = async (name: string): Promise<void> => {
      const work = slices.open(large);
      for (let stage = 1; stage <= 3; stage++) await work.run(() => stages.push(`${name}${stage}`));
    };
    await Promise.all([one('a'), one('b')]);
    assert.deepEqual(stages, ['a1', 'b1', 'a2', 'b2', 'a3', 'b3']);
  });

  test('pauses after a long stage', async () => {
    const slices = new TimeSlicer();
    const work = slices.open(large);
    let timers = 0;
    const block = (): void => {
      const until = performance.now() + 20;
      while (performance.now() < until);
    };
    await work.run(block);
    const others = setInterval(() => timers++, 1);
    await work.run(() => undefined);
    clearInterval(others);
    assert.ok(timers > 0, 'the loop was free');
  });

  test('continues with other requests after a stage failed', async () => {
    const slices = new TimeSlicer();
    const fails = slices.open(large).run(() => {
      throw new Error('no');
    });
    const next = slices.open(large).run(() => 'yes');
    await assert.rejects(async () => fails, /no/);
    assert.equal(await next, 'yes');
  });

  test('serializes writes of one key and runs those of other keys concurrently', async () => {
    const slices = new TimeSlicer();
    const events: string[] = [];
    const write = (name: string) => async (): Promise<void> => {
      events.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      events.push(`${name} ends`);
      if (name === 'a') throw new Error('no');
    };
    await Promise.allSettled([
      slices.serialize('x', write('a')),
      slices.serialize('x', write('b')),
      slices.serialize('y', write('c')),
    ]);
    assert.deepEqual(
      events.filter((event) => !event.startsWith('c')),
      ['a begins', 'a ends', 'b begins', 'b ends'],
    );
    assert.ok(events.indexOf('c begins') < events.indexOf('b begins'));
  });

  test('runs all steps and returns their result', async () => {
    function* steps(): Generator<void, number> {
      for (let step = 0; step < 1000; step++) yield;
      return 42;
    }
    assert.equal(runToEnd(steps()), 42);
    assert.equal(await new TimeSlicer().open(large).runSteps(steps()), 42);
  });

  test('a request that takes too much processor time ends with a 413', async () => {
    const slices = new TimeSlicer({ maxCpuMs: 30 });
    const work = slices.open(large);
    const step = (): void => {
      const { user } = process.threadCpuUsage();
      while (process.threadCpuUsage().user - user < 20_000);
    };
    const all = async (): Promise<void> => {
      for (let count = 0; count < 5; count++) await work.run(step);
    };
    await assert.rejects(all, { code: 'STATUS', message: /more than 0.03 s of processor time.*send fewer/ });
  });
});
