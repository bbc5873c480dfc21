import { createHash } from 'node:crypto';

/** RFC 6455 §1.3: proves that the server speaks WebSocket. */
const acceptKey = (key: string): string =>
  createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

type HeaderReader = (name: string) => string | undefined;

/** Whether a request asks to upgrade its connection. */
const isUpgradeRequest = (header: HeaderReader): boolean =>
  (header('connection') ?? '')
    .toLowerCase()
    .split(',')
    .some((token) => token.trim() === 'upgrade');

/** Whether a request asks to upgrade to WebSocket. */
export const isWebSocketRequest = (header: HeaderReader): boolean =>
  header('upgrade')?.trim().toLowerCase() === 'websocket' && isUpgradeRequest(header);

/** Browsers send their token as a subprotocol, which is none. */
const bearerPrefix = 'base64url.bearer.authorization.k8s.io.';

/** The subprotocols that a client offers, without those that carry credentials. */
export const offeredProtocols = (header: HeaderReader): readonly string[] =>
  (header('sec-websocket-protocol') ?? '')
    .split(',')
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== '' && !protocol.startsWith(bearerPrefix));

/** The headers of the 101 response; undefined if the request lacks a valid key or has another version. */
export function handshakeHeaders(header: HeaderReader, protocol: string): Record<string, string> | undefined {
  const key = header('sec-websocket-key') ?? '';
  if (Buffer.from(key, 'base64').length !== 16 || header('sec-websocket-version') !== '13') return undefined;
  return {
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Accept': acceptKey(key),
    ...(protocol === '' ? {} : { 'Sec-WebSocket-Protocol': protocol }),
  };
}
