import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Flusher } from './flusher.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('what is scheduled in one turn goes out at its end, in order', async () => {
  const [flusher, log] = [new Flusher(), [] as string[]];
  for (const name of ['a', 'b']) flusher.schedule({ flow: 'one', flush: () => log.push(name) });
  assert.deepEqual(log, []);
  await turn();
  assert.deepEqual(log, ['a', 'b']);
});

test('who has much to be sent waits for who has little', async () => {
  const [flusher, log] = [new Flusher(), [] as string[]];
  const schedule = (flow: string): void => flusher.schedule({ flow, flush: () => log.push(flow) });
  for (let index = 0; index < 5; index++) schedule('abuser');
  schedule('second');
  await turn();
  assert.deepEqual(log.slice(0, 3), ['abuser', 'second', 'abuser']);
  assert.equal(log.length, 6);
});

test('much output is spread over several turns, and requests come in between', async () => {
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

test('a piece of a long answer takes its turn among watches', async () => {
  const [flusher, log] = [new Flusher(), [] as string[]];
  flusher.schedule({ flow: 'watcher', flush: () => log.push('watch') });
  const pieces = [1, 2, 3].map((index) => flusher.turn('lister').then(() => log.push(`piece ${index}`)));
  await Promise.all(pieces);
  assert.deepEqual(log, ['watch', 'piece 1', 'piece 2', 'piece 3']);
});
