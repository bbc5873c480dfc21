import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ConnectionSlots } from './connection-slots.ts';

const never = new AbortController().signal;

/** Starts calls of a key; returns how many of them run, and a function that ends one that runs. */
function callsOf(slots: ConnectionSlots, key: string, count: number): { running: () => number; end: () => void } {
  const running: (() => void)[] = [];
  for (let call = 0; call < count; call++) {
    void slots.run(key, never, () => new Promise<void>((resolve) => running.push(resolve)));
  }
  return { running: () => running.length, end: () => running.shift()?.() };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('keys whose calls do not end leave connections to others', async () => {
  const slots = new ConnectionSlots({ total: 256, perKey: 64 });
  const stalled = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((key) => callsOf(slots, key, 500));
  await settle();
  const taken = stalled.map(({ running }) => running());
  assert.ok(
    taken.every((count) => count > 0 && count <= 64),
    taken.join(' '),
  );
  const other = callsOf(slots, 'other', 1);
  await settle();
  assert.equal(other.running(), 1, taken.join(' '));
});

test('one key alone gets its own limit', async () => {
  const slots = new ConnectionSlots({ total: 256, perKey: 64 });
  const calls = callsOf(slots, 'a', 200);
  await settle();
  assert.equal(calls.running(), 64);
});

test('calls that wait start in their order as others end, in turn between keys', async () => {
  const slots = new ConnectionSlots({ total: 2, perKey: 2 });
  const [first, second] = [callsOf(slots, 'a', 3), callsOf(slots, 'b', 3)];
  await settle();
  assert.deepEqual([first.running(), second.running()], [1, 1], 'a second call of `a` would take the last connection');
  first.end();
  await settle();
  assert.deepEqual([first.running(), second.running()], [1, 1]);
});

test('a call whose signal fires while it waits never runs and takes no connection', async () => {
  const slots = new ConnectionSlots({ total: 1, perKey: 1 });
  const held = callsOf(slots, 'a', 1);
  await settle();
  const controller = new AbortController();
  const waiting = slots.run('a', controller.signal, () => assert.fail('it runs'));
  controller.abort(new Error('too late'));
  await assert.rejects(waiting, /too late/);
  held.end();
  const next = callsOf(slots, 'a', 1);
  await settle();
  assert.equal(next.running(), 1);
});
