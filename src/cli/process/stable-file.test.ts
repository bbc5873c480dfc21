import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../client/testing/clocks.ts';
import { stableText, settleMs } from './stable-file.ts';

/** Shows a file in several states, each for some time, and returns the accepted contents. */
async function settle(
  known: string | undefined,
  states: readonly (readonly [text: string | undefined, forMs: number])[],
): Promise<{ readonly text: string | undefined; readonly reads: number }> {
  const clock = new ManualClock();
  let [text, reads] = [states[0]?.[0], 0];
  const read = async (): Promise<string | undefined> => {
    reads++;
    return text;
  };
  const settled = stableText(read, known, clock);
  for (const [next, forMs] of states) {
    text = next;
    await clock.advance(forMs);
  }
  return { text: await settled, reads };
}

test('a file that is written in pieces is accepted when it is complete', async () => {
  const pieces = [
    ['', settleMs - 1],
    ['ttl: 1', settleMs - 1],
    ['ttl: 13\n', 3 * settleMs],
  ] as const;
  assert.equal((await settle('ttl: 2\n', pieces)).text, 'ttl: 13\n');
});

test('accepts a file that stays empty or missing', async () => {
  assert.equal((await settle('ttl: 2\n', [['', 2 * settleMs]])).text, '');
  assert.equal((await settle('ttl: 2\n', [[undefined, 2 * settleMs]])).text, undefined);
});

test('accepts known content at once, also when it is restored', async () => {
  assert.deepEqual(await settle('a', [['a', 0]]), { text: 'a', reads: 1 });
  const back = [
    ['', 1],
    ['a', settleMs],
  ] as const;
  assert.deepEqual(await settle('a', back), { text: 'a', reads: 2 });
});
