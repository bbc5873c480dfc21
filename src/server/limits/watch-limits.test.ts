import assert from 'node:assert/strict';
import { test } from 'node:test';

import { defaultLimits } from './options.ts';
import type { Holder, OpenWatch } from './watch-limits.ts';
import { WatchLimits } from './watch-limits.ts';

/** A watch whose client reads nothing. */
class Watch implements Holder {
  readonly #open: OpenWatch;
  pendingBytes = 0;
  isCut = false;

  constructor(limits: WatchLimits, flow: string) {
    this.#open = limits.open(flow, this);
  }

  push(bytes: number): void {
    this.pendingBytes += bytes;
    this.#open.hold(bytes);
  }

  cut(): void {
    this.isCut = true;
    this.close();
  }

  close(): void {
    this.#open.release(this.pendingBytes);
    this.pendingBytes = 0;
    this.#open.close();
  }
}

const limitsWith = (options: Partial<typeof defaultLimits>): WatchLimits =>
  new WatchLimits({ ...defaultLimits, ...options });

test('a user has so many watches, all users have so many, administrators only the latter', () => {
  const limits = limitsWith({ maxWatches: 3, maxWatchesPerUser: 2 });
  const first = new Watch(limits, 'a');
  new Watch(limits, 'a');
  assert.deepEqual(
    [limits.mayOpen('a', false), limits.mayOpen('a', true), limits.mayOpen('b', false)],
    [false, true, true],
  );
  new Watch(limits, 'b');
  assert.deepEqual([limits.mayOpen('c', false), limits.mayOpen('c', true)], [false, false]);
  first.close();
  first.close();
  assert.deepEqual([limits.mayOpen('a', false), limits.mayOpen('c', false)], [true, true]);
});

test('a user who holds too much loses the watch that holds most', () => {
  const limits = limitsWith({ maxWatchBytesPerUser: 100 });
  const [small, large, other] = [new Watch(limits, 'a'), new Watch(limits, 'a'), new Watch(limits, 'b')];
  other.push(90);
  large.push(70);
  small.push(30);
  assert.equal(large.isCut, false);
  small.push(1);
  assert.deepEqual([small.isCut, large.isCut, other.isCut], [false, true, false]);
  assert.deepEqual([limits.bytes, limits.cut], [121, 1]);
});

test('when all together hold too much, the user who holds most loses one, not the one who came last', () => {
  const limits = limitsWith({ maxWatchBytes: 100, maxWatchBytesPerUser: 80 });
  const [large, small] = [new Watch(limits, 'a'), new Watch(limits, 'b')];
  large.push(79);
  small.push(22);
  assert.deepEqual([large.isCut, small.isCut], [true, false]);
  assert.equal(limits.bytes, 22);
});

test('what is sent is not held any more', () => {
  const limits = limitsWith({ maxWatchBytesPerUser: 100 });
  const watch = new Watch(limits, 'a');
  for (let index = 0; index < 10; index++) {
    watch.push(90);
    watch.close();
    assert.equal(limits.bytes, 0);
  }
  assert.equal(watch.isCut, false);
});
