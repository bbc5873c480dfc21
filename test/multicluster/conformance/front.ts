// A proxy in front of an API server that implements `exec`, which the server does not have. Plain HTTP on loopback.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { createServer } from 'node:http';
import { Agent, request } from 'node:https';
import type { Duplex } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

import type { Credentials } from '../../harness/server.ts';
import { SpdySession } from './spdy.ts';

/** The server to forward requests to, and the environment of `exec` commands. */
export interface Behind {
  readonly server: string;
  readonly credentials: Credentials;
  /** The environment of commands, since there is no container. */
  readonly env: Readonly<Record<string, string>>;
}

/** Starts it and returns its address. */
export async function startFront(behind: Behind, stack: AsyncDisposableStack): Promise<string> {
  const agent = new Agent({ ...behind.credentials, keepAlive: true });
  const server = createServer((incoming, outgoing) => {
    const { method, headers } = incoming;
    const forwarded = request(new URL(incoming.url ?? '/', behind.server), { method, headers, agent }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      pipeline(answer, outgoing).catch(() => outgoing.destroy());
    });
    pipeline(incoming, forwarded).catch((error: unknown) => outgoing.writeHead(502).end(String(error)));
  });
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    answerExec({ incoming, socket, head }, behind.env).catch(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => {
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });
  return urlOf(server);
}

function urlOf(server: Server): string {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the proxy has no port');
  return `http://127.0.0.1:${address.port}`;
}

interface Upgrade {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** Runs the command once the streams for its output and its exit code are open. */
async function answerExec({ incoming, socket, head }: Upgrade, env: Behind['env']): Promise<void> {
  socket.on('error', () => socket.destroy());
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n',
  );
  const [file = '', ...args] = new URL(incoming.url ?? '/', 'http://front').searchParams.getAll('command');
  const session = new SpdySession(socket);
  const streams = new Map<string, number>();
  let isRunning = false;
  await session.run(head, (id, headers) => {
    streams.set(headers.get('streamtype') ?? '', id);
    if (isRunning || !streams.has('stdout') || !streams.has('error')) return;
    isRunning = true;
    void finished(file, args, env).then(({ out, code }) => {
      const outputs = { stdout: out, stderr: '', error: JSON.stringify(statusOf(code)) };
      for (const [name, text] of Object.entries(outputs)) {
        const stream = streams.get(name);
        if (stream !== undefined) session.finish(stream, text);
      }
    });
  });
}

async function finished(
  file: string,
  args: readonly string[],
  env: Behind['env'],
): Promise<{ out: string; code: number }> {
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 4000,
    env: { ...process.env, ...env },
  });
  const [out, [code]] = await Promise.all([textOf(child.stdout), once(child, 'close')]);
  return { out, code: typeof code === 'number' ? code : 137 };
}

const statusOf = (code: number): object =>
  code === 0
    ? { metadata: {}, status: 'Success' }
    : {
        metadata: {},
        status: 'Failure',
        reason: 'NonZeroExitCode',
        message: `command terminated with exit code ${code}`,
        details: { causes: [{ reason: 'ExitCode', message: `${code}` }] },
      };
