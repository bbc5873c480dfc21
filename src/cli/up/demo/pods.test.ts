import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';

import { ports } from './objects.ts';
import { startPod } from './pods.ts';

test('a port in use is named, with what may use it', async () => {
  const address = '127.192.250.1';
  const server = createServer().listen(ports.sip, address);
  await once(server, 'listening');
  try {
    await assert.rejects(startPod({ name: 'shop-1', address }, 'east'), {
      code: 'FATAL',
      message:
        'cannot start Pod "shop-1" of the demo at 127.192.250.1: port 5060 is in use, there or at all addresses: ' +
        'stop the other demo or program, or run `fairlead up` without --demo',
    });
  } finally {
    server.close();
  }
});
