import { connect } from 'node:net';
import type { Duplex } from 'node:stream';

import { goErrorText } from '../../api/go-error-text.ts';
import { setTimeout } from '../../machine/timers.ts';
import { ChannelConnection } from '../../streams/channels.ts';
import type { SpdyStream } from '../../streams/spdy/session.ts';
import { SpdySession } from '../../streams/spdy/session.ts';
import { resetStatus } from '../../streams/spdy/frames.ts';
import { handshakeHeaders, isWebSocketRequest, offeredProtocols } from '../../streams/websocket/handshake.ts';
import type { LocalPod } from '../pods/runtime.ts';
import type { Handshake } from './command-session.ts';
import { spdyHandshake } from './command-session.ts';

type HeaderReader = (name: string) => string | undefined;

/** How long the two streams of a connection may be apart. */
const pairMs = 30_000;
const connectMs = 30_000;
/** The streams of one caller: two for each connection. */
const maxStreams = 2000;

const webSocketFormats = {
  'v4.channel.k8s.io': { isBase64: false, hasCloseSignal: false },
  'v4.base64.channel.k8s.io': { isBase64: true, hasCloseSignal: false },
  '': { isBase64: false, hasCloseSignal: false },
} as const;

/** Negotiates the protocol of forwarded ports; `accept` resolves when the caller has disconnected. */
export function portForwardHandshake(header: HeaderReader, query: URLSearchParams, pod: LocalPod): Handshake<void> {
  if (isWebSocketRequest(header)) return overWebSocket(header, query, pod);
  const handshake = spdyHandshake(header, ['portforward.k8s.io']);
  if ('status' in handshake) return handshake;
  return { headers: handshake.headers, accept: (socket, head) => forwardOverSpdy(socket, head, pod) };
}

interface Pair {
  data?: SpdyStream;
  error?: SpdyStream;
  readonly timer: NodeJS.Timeout;
}

async function forwardOverSpdy(socket: Duplex, head: Buffer, pod: LocalPod): Promise<void> {
  /** request ID → its streams that have arrived */
  const pairs = new Map<string, Pair>();
  const onStream = (stream: SpdyStream): boolean => {
    const { streamtype, port: portText = '', requestid } = stream.headers;
    const port = parsePort(portText);
    if (port === undefined || (streamtype !== 'data' && streamtype !== 'error')) return false;
    // Old clients have no request IDs and open the two streams one after the other.
    const id = requestid ?? String(streamtype === 'error' ? stream.id : stream.id - 2);
    const pair = pairs.get(id) ?? { timer: setTimeout(() => abandon(id), pairMs).unref() };
    if (pair[streamtype] !== undefined) {
      pair.error?.write(`error processing stream for request ${id}: ${streamtype} stream already assigned`);
      return false;
    }
    pair[streamtype] = stream;
    pairs.set(id, pair);
    const { data, error } = pair;
    if (data !== undefined && error !== undefined) {
      pairs.delete(id);
      clearTimeout(pair.timer);
      forward(pod, port, data, {
        fail(message) {
          error.end(message, () => {
            data.reset(resetStatus.cancel);
            error.reset(resetStatus.cancel);
          });
        },
        finish: () => void error.end(),
      });
      error.resume();
    }
    return true;
  };
  const abandon = (id: string): void => {
    const pair = pairs.get(id);
    pairs.delete(id);
    pair?.error?.end(`(request=${id}) timed out waiting for streams`);
    pair?.data?.reset(resetStatus.cancel);
  };
  const session = new SpdySession(socket, { role: 'server', maxStreams, onStream }, head);
  await session.closed;
  for (const { timer } of pairs.values()) clearTimeout(timer);
}

function overWebSocket(header: HeaderReader, query: URLSearchParams, pod: LocalPod): Handshake<void> {
  const texts = query.getAll('port').flatMap((list) => list.split(','));
  if (texts.length === 0) return { status: 400, message: 'query parameter "port" is required' };
  const ports: number[] = [];
  for (const text of texts) {
    const port = parsePort(text);
    if (port === undefined) return { status: 400, message: `unable to parse ${JSON.stringify(text)} as a port` };
    ports.push(port);
  }
  if (ports.length > maxWebSocketPorts) return { status: 400, message: `more than ${maxWebSocketPorts} ports` };
  const offered = offeredProtocols(header);
  const known = (protocol: string): protocol is keyof typeof webSocketFormats =>
    Object.hasOwn(webSocketFormats, protocol);
  const protocol = offered.length === 0 ? '' : offered.find(known);
  if (protocol === undefined)
    return { status: 403, message: `requested protocol(s) are not supported: [${offered.join(' ')}]` };
  const headers = handshakeHeaders(header, protocol);
  if (headers === undefined) return { status: 400, message: 'the WebSocket handshake is not valid' };
  return {
    headers,
    async accept(socket, head) {
      const readable = ports.map((_port, index) => 2 * index);
      const channels = new ChannelConnection(socket, { format: webSocketFormats[protocol], readable, head });
      let open = ports.length;
      ports.forEach((port, index) => {
        const [dataChannel, errorChannel] = [2 * index, 2 * index + 1];
        const portBytes = Buffer.alloc(2);
        portBytes.writeUInt16LE(port);
        void channels.send(dataChannel, portBytes);
        void channels.send(errorChannel, portBytes);
        const finish = (): void => {
          open--;
          if (open === 0) channels.close();
        };
        const data = { readable: channels.reader(dataChannel), writable: channels.writer(dataChannel) };
        forwardBetween(pod, port, data, {
          fail: (message) => void channels.send(errorChannel, Buffer.from(message)).then(finish),
          finish,
        });
      });
      await channels.closed;
    },
  };
}

const maxWebSocketPorts = 64;

/** What happens when a connection cannot be made, or has ended. One of them is called, once. */
interface Outcome {
  fail(message: string): void;
  finish(): void;
}

const forward = (pod: LocalPod, port: number, data: Duplex, outcome: Outcome): void =>
  forwardBetween(pod, port, { readable: data, writable: data }, outcome);

/** Connects to a port of the Pod and copies in both directions. */
function forwardBetween(
  { pod, ip }: LocalPod,
  port: number,
  {
    readable,
    writable,
  }: {
    readonly readable: NodeJS.ReadableStream & { destroy(): void };
    readonly writable: NodeJS.WritableStream & { destroy(): void };
  },
  outcome: Outcome,
): void {
  const { name, uid } = pod.metadata;
  let isDone = false;
  const done = (error?: unknown): void => {
    clearTimeout(timer);
    if (isDone) return;
    isDone = true;
    if (error === undefined) outcome.finish();
    else outcome.fail(`error forwarding port ${port} to pod ${name}, uid ${uid}: ${goErrorText(error)}`);
  };
  const backend = connect({ host: ip, port, allowHalfOpen: true, noDelay: true });
  const timer = setTimeout(() => backend.destroy(new Error(`dial tcp ${ip}:${port}: i/o timeout`)), connectMs);
  backend.once('connect', () => {
    clearTimeout(timer);
    readable.pipe(backend);
    backend.pipe(writable);
  });
  backend.on('error', done);
  backend.on('close', () => {
    done();
    if (backend.readableEnded) readable.unpipe(backend).resume(); // the caller ends its side when it has read everything
    else {
      readable.destroy();
      writable.destroy();
    }
  });
  // The caller has reset or closed the stream.
  readable.on('close', () => {
    if (!backend.writableEnded) backend.destroy();
  });
  readable.on('error', () => backend.destroy());
  writable.on('error', () => backend.destroy());
}

function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}
