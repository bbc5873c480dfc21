// Targets and clients with real sockets, for tests of listeners.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

import type { Action, NodeNetwork, Route, Target } from '../../routes/route.ts';

/** Loopback addresses that no other test uses; every address of 127.0.0.0/8 can be bound. */
export function vips(): () => string {
  const [a, b] = [100 + Math.floor(Math.random() * 128), Math.floor(Math.random() * 256)];
  let next = 1;
  return () => `127.${a}.${b}.${next++}`;
}

export const port = 20_080;

export const network: NodeNetwork = {
  addresses: new Set(['127.0.0.1']),
  podRanges: [],
  serviceRanges: [],
  masqueradeAll: false,
};

export const target = (at: Pick<Target, 'address' | 'port'>, stickySeconds = 0): Target => ({
  address: at.address,
  port: at.port,
  weight: 1,
  stickySeconds,
  isLocal: true,
});

export const forward = (...targets: readonly Target[]): Action => ({ type: 'forward', targets });

/** A route of a cluster IP. */
export const route = (address: string, action: Action, rest: Partial<Route> = {}): Route => ({
  owner: 'Service shop/web',
  portName: '',
  kind: 'clusterIP',
  family: address.includes(':') ? 'IPv6' : 'IPv4',
  address,
  protocol: 'TCP',
  port,
  action,
  masquerade: 'outsiders',
  ...(rest.protocol === 'UDP' && action.type === 'forward'
    ? { serving: new Set(action.targets.map((each) => `${each.address} ${each.port}`)) }
    : {}),
  ...rest,
});

export interface Running extends AsyncDisposable {
  readonly address: string;
  readonly port: number;
}

/** A target of TCP. */
export async function serve(address: string, onConnection: (socket: Socket) => void): Promise<Running> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    onConnection(socket);
  });
  const sockets = new Set<Socket>();
  server.listen({ host: address, port: 0, backlog: 4096 });
  await once(server, 'listening');
  return {
    address,
    port: (server.address() as AddressInfo).port, // it listens on a port
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** A target that sends its name, and then echoes until the end. */
export const named = (address: string, name: string): Promise<Running> =>
  serve(address, (socket) => {
    socket.write(`${name}\n`);
    socket.pipe(socket);
  });

/** A UDP target that answers with its name and the datagram. */
export async function namedUdp(address: string, name: string, at = 0): Promise<Running> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  socket.on('message', (message, from) => socket.send(`${name} ${message.toString()}`, from.port, from.address));
  socket.bind(at, address);
  await once(socket, 'listening');
  return {
    address,
    port: socket.address().port,
    async [Symbol.asyncDispose]() {
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
  };
}

/** Connects, sends, half-closes, and returns the response; or the code of the error. */
export function ask(
  host: string,
  {
    text = 'hi',
    timeoutMs = 5000,
    at = port,
    from,
  }: { text?: string; timeoutMs?: number; at?: number; from?: string } = {},
): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: at,
      allowHalfOpen: true,
      ...(from === undefined ? {} : { localAddress: from }),
    });
    const chunks: Buffer[] = [];
    socket.setTimeout(timeoutMs, () => socket.destroy(Object.assign(new Error('silence'), { code: 'silence' })));
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('end', () => resolve(Buffer.concat(chunks).toString()));
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on('connect', () => socket.end(text));
  });
}

/** A client of UDP with one socket. */
export async function udpClient(
  host: string,
  at = port,
): Promise<AsyncDisposable & { ask(text: string, withinMs?: number): Promise<string> }> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  socket.on('error', () => {});
  socket.connect(at, host);
  await once(socket, 'connect');
  return {
    ask: (text, withinMs = 10_000) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => done('silence'), withinMs);
        const onMessage = (message: Buffer): void => done(message.toString());
        const onError = (error: NodeJS.ErrnoException): void => done(error.code ?? error.message);
        const done = (answer: string): void => {
          clearTimeout(timer);
          socket.off('message', onMessage).off('error', onError);
          resolve(answer);
        };
        socket.once('message', onMessage).once('error', onError);
        socket.send(text);
      }),
    async [Symbol.asyncDispose]() {
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
  };
}
