// Runs in a network namespace and executes commands, one line of JSON each: serve, connect, send.
import { createSocket } from 'node:dgram';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';

import type { Command } from './commands.ts';
import { sendInit } from './sctp.ts';

const udpSockets = new Map<string, ReturnType<typeof createSocket>>();
let received = 0;

/** Serves TCP and UDP on a port of both families: the response is a name and the address of the client. */
async function serve(name: string, port: number): Promise<string> {
  const tcp = createServer((socket) => {
    received++;
    socket.on('error', () => {});
    socket.end(`${name} ${plain(socket.remoteAddress ?? '')}`);
  });
  await new Promise<void>((resolve) => tcp.listen(port, '::', 4096, resolve));
  const udp = createSocket('udp6');
  udp.on('message', (_, { address, port: from }) => {
    received++;
    udp.send(`${name} ${plain(address)}`, from, address);
  });
  await new Promise<void>((resolve) => udp.bind(port, '::', resolve));
  return 'serving';
}

const plain = (address: string): string => address.replace(/^::ffff:/, '');

/** The result of one connection: the response, `refused`, or `silence` after the timeout. */
function dial(address: string, port: number, timeoutMs: number): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ host: address, port });
    const done = (result: string): void => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(timeoutMs, () => done('silence'));
    socket.on('data', (data) => (text += data.toString()));
    socket.on('end', () => done(text));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      done(error.code === 'ECONNREFUSED' || error.code === 'ECONNRESET' ? 'refused' : (error.code ?? 'error'));
    });
  });
}

/** Sends one datagram from a socket that is kept under a name, and waits for the response. */
async function send(id: string, address: string, port: number, timeoutMs: number): Promise<string> {
  const socket = udpSockets.get(id) ?? createSocket(address.includes(':') ? 'udp6' : 'udp4');
  if (!udpSockets.has(id)) {
    udpSockets.set(id, socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.connect(port, address, resolve);
    });
  }
  return new Promise((resolve) => {
    const done = (result: string) => (): void => finish(result);
    const hear = (data: Buffer): void => finish(data.toString());
    const complain = (error: NodeJS.ErrnoException): void =>
      finish(error.code === 'ECONNREFUSED' || error.code === 'EPERM' ? 'refused' : (error.code ?? 'error'));
    const timer = setTimeout(done('silence'), timeoutMs);
    const finish = (result: string): void => {
      clearTimeout(timer);
      socket.off('message', hear);
      socket.removeAllListeners('error');
      socket.on('error', () => {});
      resolve(result);
    };
    socket.on('message', hear);
    socket.on('error', complain);
    socket.send('hello', (error) => {
      if (error) complain(error);
    });
  });
}

/** Connects as fast as it can until it is stopped. */
let isLoading = false;
let loaded: Promise<string> = Promise.resolve('');

function load(address: string, port: number, parallel: number): string {
  isLoading = true;
  const counts = { good: 0, bad: 0 };
  const worker = async (): Promise<void> => {
    while (isLoading) {
      // A lost connection stays lost: the kernel has tracked the destination of its first packet.
      const answer = await dial(address, port, 10_000);
      if (answer.includes(' ')) counts.good++;
      else counts.bad++;
    }
  };
  loaded = Promise.all(Array.from({ length: parallel }, worker)).then(() => `${counts.good} ${counts.bad}`);
  return 'loading';
}

async function answer(command: Command): Promise<readonly string[]> {
  switch (command.do) {
    case 'serve':
      return [await serve(command.name, command.port)];
    case 'dial': {
      const answers: string[] = [];
      for (let index = 0; index < command.count; index++) {
        answers.push(await dial(command.address, command.port, command.timeoutMs));
      }
      return answers;
    }
    case 'send':
      return [await send(command.id, command.address, command.port, command.timeoutMs)];
    case 'load':
      return [load(command.address, command.port, command.parallel)];
    case 'stop':
      isLoading = false;
      return [await loaded];
    case 'received':
      return [String(received)];
    case 'associate':
      await sendInit(command);
      return ['sent'];
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  // A cast where bytes become a command: the other end is namespace.ts.
  const { id, command } = JSON.parse(line) as { readonly id: number; readonly command: Command };
  void answer(command).then(
    (answers) => process.stdout.write(`${JSON.stringify({ id, answers })}\n`),
    (error: unknown) => process.stdout.write(`${JSON.stringify({ id, error: String(error) })}\n`),
  );
}
process.exit(0);
