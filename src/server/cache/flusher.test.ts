import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Flusher, LineJoiner } from './flusher.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('flushes what was scheduled in one turn at its end, in order', async () => {
  const [flusher, log] = [new Flusher(), [] as string[]];
  for (const name of ['a', 'b']) flusher.schedule({ flow: 'one', flush: () => log.push(name) });
  assert.deepEqual(log, []);
  await turn();
  assert.deepEqual(log, ['a', 'b']);
});

test('a flow with little output does not wait for a flow with much', async () => {
  const [flusher, log] = [new Flusher(), [] as string[]];
  const schedule = (flow: string): void => flusher.schedule({ flow, flush: () => log.push(flow) });
  for (let index = 0; index < 5; index++) schedule('heavy');
  schedule('second');
  await turn();
  assert.deepEqual(log.slice(0, 3), ['heavy', 'second', 'heavy']);
  assert.equal(log.length, 6);
});

test('spreads much output over several turns of the event loop', async () => {
  const flusher = new Flusher();
  let sent = 0;
  for (let index = 0; index < 10; index++) {
    const flush = (): number => {
      sent++;
      return 20 << 10;
    };
    flusher.schedule({ flow: 'one', flush });
  }
  const seen: number[] = [];
  while (sent < 10) {
    await turn();
    seen.push(sent);
  }
  assert.deepEqual(seen, [3, 6, 9, 10]);
});

test('serves pieces of long replies and watches round-robin', async () => {
  const [flusher, log] = [new Flusher(), [] as string[]];
  flusher.schedule({ flow: 'watcher', flush: () => log.push('watch') });
  const pieces = [1, 2, 3].map((index) => flusher.turn('lister').then(() => log.push(`piece ${index}`)));
  await Promise.all(pieces);
  assert.deepEqual(log, ['watch', 'piece 1', 'piece 2', 'piece 3']);
});

test('joins the same lines once', () => {
  const joiner = new LineJoiner();
  const [a, b, c] = [Buffer.from('a'), Buffer.from('b'), Buffer.from('c')];
  const first = joiner.join([a, b]);
  assert.equal(first.toString(), 'ab');
  assert.equal(joiner.join([a, b]), first);
  for (const [lines, want] of [
    [[a, b, c], 'abc'],
    [[a, c], 'ac'],
    [[Buffer.from('x'), c], 'xc'],
    [[a, b], 'ab'],
    [[], ''],
  ] as const) {
    assert.equal(joiner.join(lines).toString(), want);
  }
  assert.equal(joiner.join([c]), c, 'a single line is not copied');
});
