// A Pod of the demo: a process that serves at the Pod's address and says its name. It ends with who started it.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer as createWebServer } from 'node:http';
import type { Socket } from 'node:net';
import { createServer } from 'node:net';

import { answer, answerStream } from './answer.ts';
import { ports } from './objects.ts';

const [name = '', host = ''] = process.argv.slice(2);
/** Nobody has anything long to say to it. */
const mostBytes = 4096;

async function listenTcp(port: number, onConnection: (socket: Socket) => void): Promise<void> {
  const server = createServer((socket) => {
    socket.setTimeout(10_000, () => socket.destroy()).on('error', () => socket.destroy());
    onConnection(socket);
  });
  await once(server.listen(port, host), 'listening');
}

async function listenUdp(port: number, reply: (message: Buffer) => Uint8Array | string | undefined): Promise<void> {
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    const said = reply(message);
    if (said !== undefined) socket.send(said, from.port, from.address);
  });
  await once(socket.bind(port, host), 'listening');
}

/** Answers once the question is there. */
function converse(socket: Socket): void {
  let received: Buffer = Buffer.alloc(0);
  socket.on('data', (data: Buffer) => {
    received = Buffer.concat([received, data]);
    const said = answerStream(received, `${name}, over TCP`);
    if (said !== undefined) socket.end(said);
    else if (received.length > mostBytes) socket.destroy();
  });
}

async function serve(): Promise<void> {
  await once(createWebServer((_, response) => response.end(`${name}\n`)).listen(ports.http, host), 'listening');
  for (const port of [ports.sip, ports.kerberos]) {
    await listenTcp(port, (socket) => socket.end(`${name}\n`));
    await listenUdp(port, () => `${name}\n`);
  }
  await listenTcp(ports.dns, converse);
  await listenUdp(ports.dns, (message) => answer(message, `${name}, over UDP`));
}

process.once('disconnect', () => process.exit(0));
// Ctrl-C goes to every process of a terminal; the parent ends first, and this one then.
process.on('SIGINT', () => undefined);
serve().then(
  () => process.send?.({ isServing: true }),
  (error: NodeJS.ErrnoException) => {
    process.send?.({ problem: error.message, isTaken: error.code === 'EADDRINUSE' });
    process.exitCode = 1;
    process.disconnect?.();
  },
);
