import type { Duplex, Readable } from 'node:stream';

import { messageOf } from '../../api/error-message.ts';
import { ChannelConnection, commandChannels, commandProtocols } from '../../streams/channels.ts';
import type { CommandStatus } from '../../streams/command-status.ts';
import { internalStatus, parseCommandStatus, statusOf } from '../../streams/command-status.ts';
import { SpdySession } from '../../streams/spdy/session.ts';
import type { BackendRequest, NodeClient } from './node-client.ts';
import { isUpgraded, readText } from './node-client.ts';
import type { CommandStreams } from './pod-options.ts';

/** The WebSocket subprotocol that this server translates; nodes do not know it. */
export const translatedProtocol = 'v5.channel.k8s.io';
const nodeProtocol = 'v4.channel.k8s.io';
const maxStatusBytes = 64 * 1024;

/**
 * Runs a command for a client that speaks v5 over WebSocket, on a node that speaks v4 over SPDY. As in Kubernetes the client
 * is connected before the node, so every failure is a Status on the error channel.
 */
export async function translate(
  client: { readonly socket: Duplex; readonly head: Buffer },
  streams: CommandStreams,
  { nodes, request }: { readonly nodes: NodeClient; readonly request: Omit<BackendRequest, 'headers' | 'signal'> },
): Promise<void> {
  const { stdin, stdout, stderr } = streams;
  const { stdin: stdinChannel, resize, error } = commandChannels;
  const format = commandProtocols[translatedProtocol];
  if (format === undefined) throw new Error('bug: unknown subprotocol');
  const channels = new ChannelConnection(client.socket, {
    format,
    readable: [...(stdin ? [stdinChannel] : []), resize],
    head: client.head,
  });
  // Clients wait for a first message.
  const first = stdout ? commandChannels.stdout : stderr ? commandChannels.stderr : error;
  void channels.send(first, Buffer.alloc(0));
  const status = await runOnNode(channels, streams, { nodes, request }).catch((failed: unknown) =>
    internalStatus(messageOf(failed)),
  );
  await channels.send(error, Buffer.from(JSON.stringify(status)));
  channels.close();
  await channels.closed;
}

async function runOnNode(
  channels: ChannelConnection,
  { stdin, stdout, stderr, tty }: CommandStreams,
  { nodes, request }: { readonly nodes: NodeClient; readonly request: Omit<BackendRequest, 'headers' | 'signal'> },
): Promise<CommandStatus> {
  const gone = new AbortController();
  void channels.closed.then(() => gone.abort());
  const backend = await nodes.upgrade({
    ...request,
    method: 'POST',
    headers: {
      Connection: 'Upgrade',
      Upgrade: 'SPDY/3.1',
      'X-Stream-Protocol-Version': nodeProtocol,
      'Content-Length': '0',
    },
    signal: gone.signal,
  });
  if (!isUpgraded(backend)) return refusedStatus(await readText(backend, maxStatusBytes));
  const session = new SpdySession(backend.socket, { role: 'client' }, backend.head);
  try {
    if (backend.response.headers['x-stream-protocol-version'] !== nodeProtocol) {
      throw new Error(`the node does not support the stream protocol ${nodeProtocol}`);
    }
    void channels.closed.then(() => session.close());
    const open = (streamtype: string): Duplex => session.open({ streamtype });
    const errors = open('error');
    const ended = collect(errors, maxStatusBytes);
    ended.catch(() => undefined); // awaited below, unless an output fails first
    if (stdin) channels.reader(commandChannels.stdin).pipe(open('stdin'));
    const outputs: Promise<void>[] = [];
    const output = (name: 'stdout' | 'stderr'): void => {
      const stream = open(name);
      outputs.push(copy(stream, channels, commandChannels[name]));
    };
    if (stdout) output('stdout');
    if (stderr && !tty) output('stderr');
    if (tty) channels.reader(commandChannels.resize).pipe(open('resize'));
    else channels.reader(commandChannels.resize).resume();
    await Promise.all(outputs);
    return statusOf(parseCommandStatus(await ended));
  } finally {
    session.close();
  }
}

/** Sends a stream of the node to the client, at the pace of the client. */
async function copy(stream: Readable, channels: ChannelConnection, channel: number): Promise<void> {
  for await (const chunk of piecesOf(stream)) await channels.send(channel, chunk);
}

/** The pieces of a stream, which is not reset at its end. */
const piecesOf = (stream: Readable): AsyncIterable<Buffer> => stream.iterator({ destroyOnReturn: false });

async function collect(stream: Readable, limit: number): Promise<string> {
  let text = '';
  for await (const chunk of piecesOf(stream)) {
    text += chunk.toString();
    if (text.length > limit) throw new Error('error stream protocol error: the status is too long');
  }
  return text;
}

/** The Status of a node that has refused the command. */
function refusedStatus(text: string): CommandStatus {
  try {
    const status = JSON.parse(text) as CommandStatus;
    if (status.status === 'Failure') return status;
  } catch {
    // plain text
  }
  return internalStatus(`unable to upgrade connection: ${text.trim()}`);
}
