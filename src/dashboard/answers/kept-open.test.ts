import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../server/testing/until.ts';
import { KeptOpen } from './kept-open.ts';

/** Counts what is open. */
function counted() {
  const counts = { opened: 0, closed: 0 };
  const open = async () => {
    counts.opened++;
    return { [Symbol.asyncDispose]: async () => void counts.closed++ };
  };
  return { counts, open };
}

test('is opened once for concurrent uses, and closed when it is idle', async () => {
  const { counts, open } = counted();
  const kept = new KeptOpen(open, { idleMs: 1 });
  assert.equal(kept.isOpen, false);
  assert.deepEqual(await Promise.all([kept.use(() => 1), kept.use(async () => 2)]), [1, 2]);
  assert.equal(counts.opened, 1);
  assert.equal(kept.isOpen, true);
  await until('it is closed', () => counts.closed === 1);
  assert.equal(kept.isOpen, false);
  await kept.use(() => undefined);
  assert.equal(counts.opened, 2);
  await kept[Symbol.asyncDispose]();
  assert.deepEqual(counts, { opened: 2, closed: 2 });
});

test('is not closed while it is used', async () => {
  const { counts, open } = counted();
  await using kept = new KeptOpen(open, { idleMs: 1 });
  const long = Promise.withResolvers<void>();
  const using = kept.use(() => long.promise);
  await kept.use(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, 20)); // the idle timer of the second use would have fired
  assert.equal(counts.closed, 0);
  long.resolve();
  await using;
});

test('a failure to open is reported, and the next use tries again', async () => {
  let attempts = 0;
  const kept = new KeptOpen(async () => {
    if (++attempts === 1) throw new Error('unreachable');
    return { [Symbol.asyncDispose]: async () => undefined };
  });
  await assert.rejects(
    kept.use(() => undefined),
    /unreachable/,
  );
  await kept.use(() => undefined);
  await kept[Symbol.asyncDispose]();
  assert.equal(attempts, 2);
});
