import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port of 127.0.0.1 that nobody has now, for TCP and UDP. It is none of those that systems give to connections that go
 * out: one of these could have it before it is listened on, and a client that tries again and again could meet itself.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = 12_000 + Math.floor(Math.random() * 8000);
    if ((await isFreeForTcp(port)) && (await isFreeForUdp(port))) return port;
  }
  throw new Error('no port from 12000 to 19999 is free');
}

async function isFreeForTcp(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

async function isFreeForUdp(port: number): Promise<boolean> {
  const socket = createSocket('udp4').bind(port, '127.0.0.1');
  try {
    await once(socket, 'listening');
  } catch {
    return false;
  }
  socket.close();
  await once(socket, 'close');
  return true;
}
