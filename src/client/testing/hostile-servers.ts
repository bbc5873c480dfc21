import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';

/** The response to one request, piece by piece; it may be endless. */
export type Answer = (request: string) => Iterable<string>;

/** A broken or malicious server. */
export interface HostileServer extends AsyncDisposable {
  readonly url: string;
  /** The bytes sent over each connection. */
  readonly sent: () => readonly number[];
}

/** The server stops here; this is more than any client may read over one connection. */
const maxSent = 160 << 20;

/** Sends the result of `answer` for each request as fast as the client reads. */
export async function hostileServer(answer: Answer, most = maxSent): Promise<HostileServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.setNoDelay(true));
    socket.on('error', () => {}); // the client closed it
    socket.on('data', (request) => send(socket, answer(request.toString())[Symbol.iterator](), most));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // A cast for TCP, which always has a port.
  return {
    url: `http://127.0.0.1:${port}`,
    sent: () => Array.from(sockets, ({ bytesWritten, writableLength }) => bytesWritten - writableLength),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function send(socket: Socket, pieces: Iterator<string>, most: number): void {
  for (let isTaken = true; isTaken;) {
    const { value, done } = pieces.next();
    if (done === true || socket.destroyed || socket.bytesWritten > most) return;
    isTaken = socket.write(value);
  }
  socket.once('drain', () => send(socket, pieces, most));
}

function* forEver(piece: (number: number) => string): Iterable<string> {
  for (let number = 0; ; number++) yield piece(number);
}

function* after(head: string, rest: Iterable<string>): Iterable<string> {
  yield head;
  yield* rest;
}

const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const whole = (body: string, headers = ''): string[] => [
  `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n`,
  body,
];

const filler = 'x'.repeat(64 << 10);
const objectNamed = (name: string, more = ''): string =>
  `{"metadata":{"name":"${name}","namespace":"default","uid":"${name}","resourceVersion":"5","annotations":{"a":"${more}"}}}`;
const page = (token: string, items: readonly string[]): string[] =>
  whole(`{"metadata":{"resourceVersion":"5","continue":"${token}"},"items":[${items.join()}]}`);
const event = (type: string, object: string): string => chunk(`{"type":"${type}","object":${object}}\n`);
const isWatch = (request: string): boolean => request.includes('watch=true');

/** Description → responses to every request. */
export const hostileAnswers: Readonly<Record<string, Answer>> = {
  'a body without an end': () =>
    after(
      chunked,
      forEver(() => chunk(filler)),
    ),
  'a body that ends with a connection that stays open': () =>
    after(
      'HTTP/1.0 200 OK\r\n\r\n',
      forEver(() => filler),
    ),
  'a Content-Length of a terabyte': () =>
    after(
      'HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n',
      forEver(() => filler),
    ),
  'a body in pieces of one byte': () =>
    after(
      chunked,
      forEver(() => chunk('x').repeat(4096)),
    ),
  'a list that does not end': () =>
    after(
      `${chunked}${chunk('{"items":[{}')}`,
      forEver(() => chunk(',{"a":"b"}'.repeat(4096))),
    ),
  'headers without an end': () =>
    after(
      'HTTP/1.1 200 OK\r\n',
      forEver((number) => `A-${number}: ${'b'.repeat(1000)}\r\n`),
    ),
  'informational responses without an end': () => forEver(() => 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1000)),
  'trailers without an end': () =>
    after(
      `${chunked}${chunk('{}')}0\r\n`,
      forEver((number) => `A-${number}: ${'b'.repeat(1000)}\r\n`),
    ),
  'an error without an end': () =>
    after(
      'HTTP/1.1 500 Internal Server Error\r\nTransfer-Encoding: chunked\r\n\r\n',
      forEver(() => chunk(filler)),
    ),
  'JSON that is nested a million deep': () => whole(`${'['.repeat(1 << 20)}\n`),
  'a compressed body that was not requested': () => whole('\x1f\x8b\x08', 'Content-Encoding: gzip\r\n'),
  'a redirect to itself': (request) => [
    `HTTP/1.1 302 Found\r\nLocation: ${request.split(' ')[1] ?? '/'}\r\nContent-Length: 0\r\n\r\n`,
  ],
  'nothing at all': () => [],
  'half a status line': () => ['HTTP/1.1 2'],
  'the same page repeatedly': (request) => (isWatch(request) ? whole('') : page('again', [objectNamed('a')])),
  'empty pages without an end': (request) => (isWatch(request) ? whole('') : page(`${Math.random()}`, [])),
  'pages without an end': (request) =>
    isWatch(request)
      ? whole('')
      : page(
          `${Math.random()}`,
          Array.from({ length: 500 }, () => objectNamed(`a${Math.random()}`, 'x'.repeat(200))),
        ),
  'initial events of a watch without an end': () =>
    after(
      chunked,
      forEver((number) => event('ADDED', objectNamed(`a${number}`, 'x'.repeat(1000)))),
    ),
  'new objects without an end': () =>
    after(
      chunked +
        event('BOOKMARK', '{"metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}}}'),
      forEver((number) => event('ADDED', objectNamed(`a${number}`, 'x'.repeat(1000)))),
    ),
  'objects that grow without an end': () =>
    after(
      chunked +
        event('BOOKMARK', '{"metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}}}'),
      forEver((number) => event('MODIFIED', objectNamed('a', 'x'.repeat((number % 8) << 21)))),
    ),
};
