import assert from 'node:assert/strict';
import { test } from 'node:test';

import { setImmediate, setInterval, setTimeout, uncaughtErrors } from './timers.ts';

test('publishes the error of a callback, and the interval continues', async () => {
  const published: unknown[] = [];
  const listen = (message: unknown): void => void published.push(message);
  uncaughtErrors.subscribe(listen);
  try {
    const error = new Error('thrown by a callback');
    const fail = (): never => {
      throw error;
    };
    let turns = 0;
    await new Promise<void>((resolve) => {
      setImmediate(fail);
      setTimeout(fail, 1);
      const timer = setInterval(() => {
        if (++turns < 3) fail();
        clearInterval(timer);
        setTimeout(resolve, 2);
      }, 1);
    });
    assert.deepEqual(published, Array(4).fill({ origin: 'timer', error }));
  } finally {
    uncaughtErrors.unsubscribe(listen);
  }
});
