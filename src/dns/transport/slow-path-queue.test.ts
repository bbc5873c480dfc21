import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { QueryClient, SlowPath } from '../prepared.ts';
import { SlowPathQueue } from './slow-path-queue.ts';

const from = (address: string): QueryClient => ({ address, port: 1, protocol: 'udp' });

/** A slow path whose replies the test triggers. */
function held(): { readonly slowPath: SlowPath; readonly started: number[]; readonly finish: (which: number) => void } {
  const started: number[] = [];
  const waiting = new Map<number, () => void>();
  const slowPath: SlowPath = async ([which = 0]) => {
    started.push(which);
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.set(which, resolve);
    await promise;
    return [Uint8Array.of(which)];
  };
  return { slowPath, started, finish: (which) => waiting.get(which)?.() };
}

const settle = async (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('runs the newest query next, and drops the oldest beyond the limit', async () => {
  const { slowPath, started, finish } = held();
  const queue = new SlowPathQueue({
    slowPath,
    maxRunning: 1,
    maxWaiting: 2,
    onError: (error) => assert.fail(String(error)),
  });
  const done: string[] = [];
  for (const which of [1, 2, 3, 4]) {
    queue.add(Uint8Array.of(which), from('192.0.2.1'), (messages) => done.push(`${which}: ${messages.length}`));
  }
  assert.deepEqual(done, ['2: 0']);
  for (const which of [1, 4, 3]) {
    finish(which);
    await settle();
  }
  assert.deepEqual(started, [1, 4, 3]);
  assert.deepEqual(done, ['2: 0', '1: 1', '4: 1', '3: 1']);
  assert.equal(queue.dropped, 1);
  assert.equal(queue.size, 0);
});

test('limits the queries of one client', async () => {
  const { slowPath, started, finish } = held();
  const queue = new SlowPathQueue({ slowPath, maxPerClient: 2, onError: (error) => assert.fail(String(error)) });
  const ignore = (): void => undefined;
  for (const which of [1, 2, 3]) queue.add(Uint8Array.of(which), from('192.0.2.1'), ignore);
  queue.add(Uint8Array.of(4), from('192.0.2.2'), ignore);
  assert.deepEqual(started, [1, 2, 4]);
  assert.equal(queue.dropped, 1);
  finish(1);
  await settle();
  queue.add(Uint8Array.of(5), from('192.0.2.1'), ignore);
  assert.deepEqual(started, [1, 2, 4, 5]);
});

test('reports an error of the slow path, and sends its client no reply', async () => {
  const errors: unknown[] = [];
  const slowPath: SlowPath = async () => {
    throw new Error('no');
  };
  const queue = new SlowPathQueue({ slowPath, onError: (error) => errors.push(error) });
  let messages = -1;
  queue.add(Uint8Array.of(1), from('192.0.2.1'), ({ length }) => {
    messages = length;
  });
  await settle();
  assert.equal(messages, 0);
  assert.equal(errors.length, 1);
});
