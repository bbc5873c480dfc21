import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

/** A separate process, since the test runner handles uncaught errors too. */
const program = `
  import { EventEmitter } from 'node:events';
  import { containErrors } from ${JSON.stringify(import.meta.resolve('./contained-errors.ts'))};
  import { setTimeout, setInterval, setImmediate } from ${JSON.stringify(import.meta.resolve('./timers.ts'))};
  const seen = [];
  containErrors(({ origin, error }) => seen.push(origin + ' ' + error.message));
  const fail = (message) => () => { throw new Error(message); };
  setTimeout(fail('timeout'), 1);
  setImmediate(fail('immediate'));
  const interval = setInterval(fail('interval'), 1);
  const emitter = new EventEmitter().on('data', fail('listener'));
  globalThis.setTimeout(() => emitter.emit('data'), 1);
  globalThis.setTimeout(() => emitter.emit('error', new Error('no listener')), 1);
  void Promise.reject(new Error('promise'));
  const expected = ['timer timeout', 'timer immediate', 'exception listener', 'exception no listener', 'rejection promise'];
  const look = globalThis.setInterval(() => {
    const turns = seen.filter((each) => each === 'timer interval').length;
    if (turns < 2 || !expected.every((each) => seen.includes(each))) return;
    clearInterval(look);
    clearInterval(interval);
    console.log('still running');
  }, 1);
`;

test('errors of timers, listeners and promises do not end the process', async () => {
  const args = ['--input-type=module', '-e', program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
  assert.equal(stdout, 'still running\n');
});
