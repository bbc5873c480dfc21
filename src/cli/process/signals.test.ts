import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { listenForStop } from './signals.ts';

test('the first signal drains, a later one exits at once', () => {
  const source = new EventEmitter();
  const exits: number[] = [];
  let now = 1000;
  {
    using stop = listenForStop(
      source,
      (code) => exits.push(code),
      () => now,
    );
    assert.equal(stop.requested.aborted, false);
    source.emit('SIGINT');
    assert.equal(stop.requested.aborted, true);

    now += 20; // the same key press, forwarded by npm
    source.emit('SIGINT');
    assert.deepEqual(exits, []);

    now += 1000;
    source.emit('SIGINT');
    source.emit('SIGTERM');
    assert.deepEqual(exits, [130, 143]);
  }
  assert.equal(source.listenerCount('SIGINT') + source.listenerCount('SIGTERM'), 0);
});
