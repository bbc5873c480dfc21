// The program of a demo Pod: serves its name at the Pod's address.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer as createWebServer } from 'node:http';
import type { Socket } from 'node:net';
import { createServer } from 'node:net';

import { answer, answerStream } from './answer.ts';
import { ports, servingFile } from './objects.ts';

const [name = '', host = ''] = process.argv.slice(2);
/** Longer requests are rejected. */
const maxBytes = 4096;

async function listenTcp(port: number, onConnection: (socket: Socket) => void): Promise<void> {
  const server = createServer((socket) => {
    socket.setTimeout(10_000, () => socket.destroy()).on('error', () => socket.destroy());
    onConnection(socket);
  });
  await once(server.listen(port, host), 'listening');
}

async function listenUdp(port: number, replyTo: (message: Buffer) => Uint8Array | string | undefined): Promise<void> {
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    const reply = replyTo(message);
    if (reply !== undefined) socket.send(reply, from.port, from.address);
  });
  await once(socket.bind(port, host), 'listening');
}

/** Answers DNS queries over TCP. */
function serveDns(socket: Socket): void {
  let received: Buffer = Buffer.alloc(0);
  socket.on('data', (data: Buffer) => {
    received = Buffer.concat([received, data]);
    const reply = answerStream(received, `${name}, over TCP`);
    if (reply !== undefined) socket.end(reply);
    else if (received.length > maxBytes) socket.destroy();
  });
}

async function serve(): Promise<void> {
  rmSync(servingFile, { force: true }); // one that a killed program left
  await once(createWebServer((_, response) => response.end(`${name}\n`)).listen(ports.http, host), 'listening');
  for (const port of [ports.sip, ports.kerberos]) {
    await listenTcp(port, (socket) => socket.end(`${name}\n`));
    await listenUdp(port, () => `${name}\n`);
  }
  await listenTcp(ports.dns, serveDns);
  await listenUdp(ports.dns, (message) => answer(message, `${name}, over UDP`));
  writeFileSync(servingFile, '');
}

serve().catch((error: NodeJS.ErrnoException & { readonly port?: number }) => {
  const { code, message, port } = error;
  // The agent reports the last lines of the log as the message of the container.
  console.error(
    code === 'EADDRINUSE' && port !== undefined
      ? `port ${port} is in use, there or at all addresses: stop the other demo or program, or run \`fairlead up\` without --demo`
      : message,
  );
  process.exit(1);
});
