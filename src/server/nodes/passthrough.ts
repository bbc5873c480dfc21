import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';

import { failure } from '../../api/errors.ts';
import type { ApiRequest, BodyReply, Headers, UpgradeReply } from '../reply.ts';
import type { BackendRequest, NodeClient, UpgradedBackend } from './node-client.ts';
import { isUpgraded, readText } from './node-client.ts';
import { offeredProtocols } from '../../streams/websocket/handshake.ts';
import { splice } from './splice.ts';

/** The headers of a handshake, and those that a node may log. Credentials of the client never reach a node. */
const forwardedHeaders = [
  'connection',
  'upgrade',
  'x-stream-protocol-version',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-extensions',
  'user-agent',
  'origin',
];
const handshakeReplyHeaders = [
  'connection',
  'upgrade',
  'x-stream-protocol-version',
  'x-accepted-stream-protocol-versions',
  'sec-websocket-accept',
  'sec-websocket-protocol',
];
/** The part of an error of a node that a client receives. */
const maxErrorBytes = 64 * 1024;

/** The headers of a request to upgrade, for the backend. */
export function upgradeHeaders(request: ApiRequest): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  for (const name of forwardedHeaders) {
    const value = request.header(name);
    if (value !== undefined) headers[name] = value;
  }
  const protocols = offeredProtocols((name) => request.header(name));
  if (protocols.length > 0) headers['sec-websocket-protocol'] = protocols.join(', ');
  if (request.remoteAddress !== undefined) headers['x-forwarded-for'] = request.remoteAddress;
  return headers;
}

/** Passes the request to the backend, and joins both connections if the backend upgrades its own. */
export async function passUpgrade(
  nodes: NodeClient,
  request: BackendRequest,
  onUpgrade: (backend: UpgradedBackend) => UpgradeReply = joined,
): Promise<UpgradeReply | BodyReply> {
  const backend = await nodes.upgrade(request).catch((error: unknown) => {
    throw failure({ code: 500, message: error instanceof Error ? error.message : String(error) });
  });
  return isUpgraded(backend) ? onUpgrade(backend) : refusal(backend);
}

/** The reply to a client whose upgrade the backend did not accept. */
async function refusal(response: IncomingMessage): Promise<BodyReply> {
  const status = response.statusCode ?? 502;
  const body = await readText(response, maxErrorBytes);
  response.destroy();
  if (status < 400) throw failure({ code: 500, message: `invalid upgrade response: status code ${status}` });
  return {
    status,
    headers: {
      'Content-Type': response.headers['content-type'] ?? 'text/plain; charset=utf-8',
      'X-Content-Type-Options': 'nosniff',
      ...pick(response, ['x-accepted-stream-protocol-versions']),
    },
    body,
  };
}

/** Both connections carry the same bytes. */
function joined({ response, socket, head }: UpgradedBackend): UpgradeReply {
  return {
    status: 101,
    headers: pick(response, handshakeReplyHeaders),
    upgrade(client, clientHead) {
      if (head.length > 0) client.write(head);
      if (clientHead.length > 0) socket.write(clientHead);
      splice(client, socket);
    },
  };
}

const pick = ({ headers }: IncomingMessage, names: readonly string[]): Headers =>
  Object.fromEntries(
    names.flatMap((name): [string, string][] => {
      const value = headers[name];
      return value === undefined ? [] : [[canonical(name), Array.isArray(value) ? value.join(', ') : value]];
    }),
  );

/** `sec-websocket-accept` → `Sec-WebSocket-Accept`: some clients compare names with case. */
const canonical = (name: string): string =>
  name
    .split('-')
    .map((word) => (word === 'websocket' ? 'WebSocket' : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('-');
