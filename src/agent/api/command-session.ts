// The streams of a command between a node and its caller, over SPDY or WebSocket.

import type { Duplex, Readable, Writable } from 'node:stream';

import { setTimeout } from '../../machine/timers.ts';
import { ChannelConnection, commandChannels, commandProtocols } from '../../streams/channels.ts';
import type { CommandStatus } from '../../streams/command-status.ts';
import type { SpdyStream } from '../../streams/spdy/session.ts';
import { SpdySession } from '../../streams/spdy/session.ts';
import { handshakeHeaders, isWebSocketRequest, offeredProtocols } from '../../streams/websocket/handshake.ts';

/** The streams that a caller wants. */
export interface WantedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** A connected caller. */
export interface CommandSession {
  /** Fails when the caller disconnects, ends when it closes its input. */
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  /** Sizes of the terminal, as JSON. */
  readonly resize: Readable | undefined;
  /** Resolves when the connection is closed, by either side. */
  readonly closed: Promise<void>;
  /** Ends the session after everything that was written. */
  end(status: CommandStatus): Promise<void>;
}

/** A handshake: the response and what happens after it, or why there is none. */
export type Handshake<Session> =
  | {
      readonly headers: Readonly<Record<string, string>>;
      readonly accept: (socket: Duplex, head: Buffer) => Promise<Session>;
    }
  | { readonly status: number; readonly message: string; readonly headers?: Readonly<Record<string, string>> };

type HeaderReader = (name: string) => string | undefined;

/** How long the caller may take to open its streams. */
const creationMs = 30_000;
/** The stream protocols of commands over SPDY: whether the end is a Status, and whether terminals have a size. */
const spdyProtocols: Readonly<Record<string, { readonly hasStatus: boolean; readonly hasResize: boolean }>> = {
  'v4.channel.k8s.io': { hasStatus: true, hasResize: true },
  'v3.channel.k8s.io': { hasStatus: false, hasResize: true },
  'v2.channel.k8s.io': { hasStatus: false, hasResize: false },
  'channel.k8s.io': { hasStatus: false, hasResize: false },
};

/** Negotiates the protocol of a command. */
export function commandHandshake(header: HeaderReader, wanted: WantedStreams): Handshake<CommandSession> {
  return isWebSocketRequest(header) ? overWebSocket(header, wanted) : overSpdy(header, wanted);
}

/** Negotiates a SPDY connection with one of the stream protocols. */
export function spdyHandshake(
  header: HeaderReader,
  supported: readonly string[],
):
  | { readonly protocol: string; readonly headers: Readonly<Record<string, string>> }
  | Extract<Handshake<never>, { status: number }> {
  if (header('upgrade')?.toLowerCase() !== 'spdy/3.1') {
    return { status: 400, message: 'unable to upgrade: missing upgrade headers in request' };
  }
  const offered = (header('x-stream-protocol-version') ?? '').split(',').map((protocol) => protocol.trim());
  const protocol = offered.find((each) => supported.includes(each));
  if (protocol === undefined) {
    return {
      status: 403,
      message: `unable to upgrade: unable to negotiate protocol: client supports [${offered.join(' ')}], server accepts [${supported.join(' ')}]`,
      headers: { 'X-Accepted-Stream-Protocol-Versions': supported.join(',') },
    };
  }
  return {
    protocol,
    headers: { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': protocol },
  };
}

function overSpdy(header: HeaderReader, wanted: WantedStreams): Handshake<CommandSession> {
  const handshake = spdyHandshake(header, Object.keys(spdyProtocols));
  if ('status' in handshake) return handshake;
  const { hasStatus = false, hasResize = false } = spdyProtocols[handshake.protocol] ?? {};
  return {
    headers: handshake.headers,
    async accept(socket, head) {
      const names = [
        'error',
        ...(wanted.stdin ? ['stdin'] : []),
        ...(wanted.stdout ? ['stdout'] : []),
        ...(wanted.stderr ? ['stderr'] : []),
        ...(wanted.tty && hasResize ? ['resize'] : []),
      ];
      const { session, streams } = await openedStreams(socket, head, names);
      const error = streams.get('error');
      const outputs = [streams.get('stdout'), streams.get('stderr')];
      for (const stream of [error, ...outputs]) stream?.resume(); // callers may half-close them
      return {
        stdin: streams.get('stdin'),
        stdout: outputs[0],
        stderr: outputs[1],
        resize: streams.get('resize'),
        closed: session.closed,
        async end(status) {
          for (const stream of outputs) if (stream !== undefined) await ended(stream);
          if (error !== undefined) {
            const text = hasStatus ? JSON.stringify(status) : status.status === 'Success' ? '' : (status.message ?? '');
            if (text !== '') error.write(text);
            await ended(error);
          }
          session.close();
        },
      };
    },
  };
}

/** Waits until the caller has opened streams with these values of `streamtype`. */
async function openedStreams(
  socket: Duplex,
  head: Buffer,
  names: readonly string[],
): Promise<{ readonly session: SpdySession; readonly streams: ReadonlyMap<string, SpdyStream> }> {
  const streams = new Map<string, SpdyStream>();
  const { promise: complete, resolve, reject } = Promise.withResolvers<void>();
  const session = new SpdySession(
    socket,
    {
      role: 'server',
      maxStreams: names.length,
      onStream(stream) {
        const { streamtype = '' } = stream.headers;
        if (!names.includes(streamtype) || streams.has(streamtype)) return false;
        streams.set(streamtype, stream);
        if (streams.size === names.length) resolve();
        return true;
      },
    },
    head,
  );
  const timer = setTimeout(() => reject(new Error('timed out waiting for client to create streams')), creationMs);
  void session.closed.then(() => reject(new Error('the caller has disconnected')));
  try {
    await complete;
    return { session, streams };
  } catch (error) {
    session.close();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Half-closes a stream after what was written to it. */
const ended = (stream: Writable): Promise<void> =>
  new Promise((resolve) => {
    if (stream.destroyed || stream.writableFinished) resolve();
    else {
      stream.once('close', () => resolve());
      stream.end(() => resolve());
    }
  });

function overWebSocket(header: HeaderReader, wanted: WantedStreams): Handshake<CommandSession> {
  const offered = offeredProtocols(header);
  const protocol = offered.length === 0 ? '' : offered.find((each) => Object.hasOwn(commandProtocols, each));
  const found = protocol === undefined ? undefined : commandProtocols[protocol];
  if (protocol === undefined || found === undefined) {
    return { status: 403, message: `requested protocol(s) are not supported: [${offered.join(' ')}]` };
  }
  const headers = handshakeHeaders(header, protocol);
  if (headers === undefined) return { status: 400, message: 'the WebSocket handshake is not valid' };
  const { stdin, stdout, stderr, error, resize } = commandChannels;
  return {
    headers,
    async accept(socket, head) {
      const readable = [...(wanted.stdin ? [stdin] : []), ...(wanted.tty ? [resize] : [])];
      const channels = new ChannelConnection(socket, { format: found, readable, head });
      const first = wanted.stdout ? stdout : wanted.stderr ? stderr : error;
      await channels.send(first, Buffer.alloc(0)); // clients wait for it
      const outputs = [
        wanted.stdout ? channels.writer(stdout) : undefined,
        wanted.stderr ? channels.writer(stderr) : undefined,
      ];
      return {
        stdin: wanted.stdin ? channels.reader(stdin) : undefined,
        stdout: outputs[0],
        stderr: outputs[1],
        resize: wanted.tty ? channels.reader(resize) : undefined,
        closed: channels.closed,
        async end(status) {
          for (const stream of outputs) if (stream !== undefined) await ended(stream);
          const text = found.hasStatus
            ? JSON.stringify(status)
            : status.status === 'Success'
              ? ''
              : (status.message ?? '');
          if (text !== '') await channels.send(error, Buffer.from(text));
          channels.close();
        },
      };
    },
  };
}
