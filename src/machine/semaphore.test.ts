import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Semaphore } from './semaphore.ts';
import { yieldToEventLoop } from './timers.ts';

test('runs no more operations at once than it has permits, in order, also after one fails', async () => {
  const semaphore = new Semaphore(2);
  const started: number[] = [];
  let running = 0;
  const work = async (index: number): Promise<void> => {
    started.push(index);
    assert.ok(++running <= 2);
    await yieldToEventLoop();
    running--;
    if (index === 1) throw new Error('failed');
  };
  const outcomes = await Promise.allSettled([0, 1, 2, 3, 4].map((index) => semaphore.run(() => work(index))));
  assert.deepEqual(started, [0, 1, 2, 3, 4]);
  assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, 1);
});

test('a cancelled waiter rejects and does not take a permit', async () => {
  const semaphore = new Semaphore(1);
  await semaphore.acquire();
  let cancel: (reason: unknown) => void = () => {};
  const cancelled = semaphore.acquire((each) => (cancel = each));
  const next = semaphore.acquire();
  cancel(new Error('cancelled'));
  await assert.rejects(cancelled, { message: 'cancelled' });
  semaphore.release();
  await next;
  cancel(new Error('late'));
});
