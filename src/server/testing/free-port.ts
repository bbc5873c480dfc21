import { createSocket } from 'node:dgram';
import type { EventEmitter } from 'node:events';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port of 127.0.0.1 that nobody has now, for TCP and UDP. It is none of those that systems give to connections that go
 * out: one of these could have it before it is listened on, and a client that tries again and again could meet itself.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = 12_000 + Math.floor(Math.random() * 8000);
    const tcp = createServer().listen(port, '127.0.0.1');
    if ((await couldListen(tcp)) && (await couldListen(createSocket('udp4').bind(port, '127.0.0.1')))) return port;
  }
  throw new Error('no port from 12000 to 19999 is free');
}

/** Whether something that was told to listen does; it is closed then. */
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
