import { createSocket } from 'node:dgram';
import type { EventEmitter } from 'node:events';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A free port of 127.0.0.1 for TCP and UDP, outside the ephemeral range: an outgoing connection could take an ephemeral
 * port before the test listens on it, and a client that retries could connect to itself.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = 12_000 + Math.floor(Math.random() * 8000);
    const tcp = createServer().listen(port, '127.0.0.1');
    if ((await couldListen(tcp)) && (await couldListen(createSocket('udp4').bind(port, '127.0.0.1')))) return port;
  }
  throw new Error('no port from 12000 to 19999 is free');
}

/** Whether the listener could bind; closes it. */
async function couldListen(listener: EventEmitter & { close(): unknown }): Promise<boolean> {
  try {
    await once(listener, 'listening');
  } catch {
    return false;
  }
  listener.close();
  await once(listener, 'close');
  return true;
}
