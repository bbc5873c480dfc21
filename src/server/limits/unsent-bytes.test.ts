import assert from 'node:assert/strict';
import { test } from 'node:test';

import { defaultLimits } from './options.ts';
import type { OutputAccount, BufferedOutput } from './unsent-bytes.ts';
import { UnsentBytes } from './unsent-bytes.ts';

/** An answer whose client reads nothing. */
class Answer implements BufferedOutput {
  readonly #held: OutputAccount;
  pendingBytes = 0;
  isCut = false;

  constructor(unsent: UnsentBytes, flow: string) {
    this.#held = unsent.open(flow, this);
  }

  push(bytes: number): void {
    this.pendingBytes += bytes;
    this.#held.add(bytes);
  }

  cut(): void {
    this.isCut = true;
    this.close();
  }

  close(): void {
    this.#held.subtract(this.pendingBytes);
    this.pendingBytes = 0;
    this.#held.close();
  }
}

const unsentWith = (options: Partial<typeof defaultLimits>): UnsentBytes =>
  new UnsentBytes({ ...defaultLimits, ...options });

test('a user who holds too much loses the answer that holds most', () => {
  const unsent = unsentWith({ maxUnsentBytesPerUser: 100 });
  const [small, large, other] = [new Answer(unsent, 'a'), new Answer(unsent, 'a'), new Answer(unsent, 'b')];
  other.push(90);
  large.push(70);
  small.push(30);
  assert.equal(large.isCut, false);
  small.push(1);
  assert.deepEqual([small.isCut, large.isCut, other.isCut], [false, true, false]);
  assert.deepEqual([unsent.bytes, unsent.cut], [121, 1]);
});

test('when all together hold too much, the user who holds most loses one, not the one who came last', () => {
  const unsent = unsentWith({ maxUnsentBytes: 100, maxUnsentBytesPerUser: 80 });
  const [large, small] = [new Answer(unsent, 'a'), new Answer(unsent, 'b')];
  large.push(79);
  small.push(22);
  assert.deepEqual([large.isCut, small.isCut], [true, false]);
  assert.equal(unsent.bytes, 22);
});

test('bytes that are sent are not held any more', () => {
  const unsent = unsentWith({ maxUnsentBytesPerUser: 100 });
  const answer = new Answer(unsent, 'a');
  for (let index = 0; index < 10; index++) {
    answer.push(90);
    answer.close();
    assert.equal(unsent.bytes, 0);
  }
  assert.equal(answer.isCut, false);
});

test('a user may ask for more once what waits for them is taken', () => {
  const unsent = unsentWith({ maxUnsentBytesPerUser: 100 });
  const answer = new Answer(unsent, 'a');
  answer.push(100);
  assert.deepEqual([unsent.hasRoom('a'), unsent.hasRoom('b')], [false, true]);
  answer.close();
  assert.equal(unsent.hasRoom('a'), true);
});
