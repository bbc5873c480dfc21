import assert from 'node:assert/strict';
import { test } from 'node:test';

import { defaultLimits } from './options.ts';
import type { BufferedOutput, OutputAccount } from './unsent-bytes.ts';
import { UnsentBytes } from './unsent-bytes.ts';

/** A reply whose client reads nothing. */
class PendingReply implements BufferedOutput {
  readonly #account: OutputAccount;
  pendingBytes = 0;
  isCut = false;

  constructor(unsent: UnsentBytes, flow: string) {
    this.#account = unsent.open(flow, this);
  }

  push(bytes: number): void {
    this.pendingBytes += bytes;
    this.#account.add(bytes);
  }

  abort(): void {
    this.isCut = true;
    this.close();
  }

  close(): void {
    this.#account.subtract(this.pendingBytes);
    this.pendingBytes = 0;
    this.#account.close();
  }
}

const unsentWith = (options: Partial<typeof defaultLimits>): UnsentBytes =>
  new UnsentBytes({ ...defaultLimits, ...options });

test('terminates the largest reply of a user over the limit', () => {
  const unsent = unsentWith({ maxUnsentBytesPerUser: 100 });
  const [small, large, other] = [
    new PendingReply(unsent, 'a'),
    new PendingReply(unsent, 'a'),
    new PendingReply(unsent, 'b'),
  ];
  other.push(90);
  large.push(70);
  small.push(30);
  assert.equal(large.isCut, false);
  small.push(1);
  assert.deepEqual([small.isCut, large.isCut, other.isCut], [false, true, false]);
  assert.deepEqual([unsent.bytes, unsent.terminated], [121, 1]);
});

test('terminates the largest reply of the largest user when the total is exceeded', () => {
  const unsent = unsentWith({ maxUnsentBytes: 100, maxUnsentBytesPerUser: 80 });
  const [large, small] = [new PendingReply(unsent, 'a'), new PendingReply(unsent, 'b')];
  large.push(79);
  small.push(22);
  assert.deepEqual([large.isCut, small.isCut], [true, false]);
  assert.equal(unsent.bytes, 22);
});

test('does not count bytes that were sent', () => {
  const unsent = unsentWith({ maxUnsentBytesPerUser: 100 });
  const answer = new PendingReply(unsent, 'a');
  for (let index = 0; index < 10; index++) {
    answer.push(90);
    answer.close();
    assert.equal(unsent.bytes, 0);
  }
  assert.equal(answer.isCut, false);
});

test('accepts further requests of a user once the pending bytes are read', () => {
  const unsent = unsentWith({ maxUnsentBytesPerUser: 100 });
  const answer = new PendingReply(unsent, 'a');
  answer.push(100);
  assert.deepEqual([unsent.hasRoom('a'), unsent.hasRoom('b')], [false, true]);
  answer.close();
  assert.equal(unsent.hasRoom('a'), true);
});
