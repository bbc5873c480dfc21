import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { test } from 'node:test';

import { lowestPort } from './lowest-port.ts';

const isLinuxRoot = existsSync('/proc/self/status') && process.getuid?.() === 0;

test('a process without CAP_NET_BIND_SERVICE has a lowest port', { skip: !isLinuxRoot }, async () => {
  const child = spawn('sleep', ['60'], { uid: 65_534, gid: 65_534, stdio: 'ignore' });
  try {
    await once(child, 'spawn');
    assert.notEqual(lowestPort(child.pid), 1);
  } finally {
    child.kill('SIGKILL');
  }
});

test('without a process to read, any port may do', () => {
  assert.equal(lowestPort(2 ** 22 + 1), 1);
});
