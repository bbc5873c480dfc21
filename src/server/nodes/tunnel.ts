import { offeredProtocols } from '../../streams/websocket/handshake.ts';
import { WebSocketConnection } from '../../streams/websocket/connection.ts';
import { closeCodes } from '../../streams/websocket/frames.ts';
import type { Headers, UpgradeReply } from '../reply.ts';
import type { UpgradedBackend } from './node-client.ts';

/** A subprotocol of a SPDY connection in the messages of a WebSocket. */
export const tunnelPrefix = 'SPDY/3.1+';
const tunnelSuffix = '.k8s.io';

/** The stream protocols that a client wants to tunnel through a WebSocket. */
export const tunnelledProtocols = (header: (name: string) => string | undefined): readonly string[] =>
  offeredProtocols(header)
    .filter((protocol) => protocol.startsWith(tunnelPrefix) && protocol.endsWith(tunnelSuffix))
    .map((protocol) => protocol.slice(tunnelPrefix.length));

/** Connects the WebSocket of a client with the SPDY connection of a node: borders of messages have no meaning. */
export function tunnelUpgrade(
  { response, socket, head }: UpgradedBackend,
  headersFor: (protocol: string) => Headers,
): UpgradeReply {
  const chosen = response.headers['x-stream-protocol-version'];
  return {
    status: 101,
    headers: headersFor(typeof chosen === 'string' ? chosen : ''),
    upgrade(client, clientHead) {
      const tunnel: WebSocketConnection = new WebSocketConnection(
        client,
        {
          onPiece({ data }) {
            if (data.length > 0 && !socket.write(data)) tunnel.pause(socket);
          },
        },
        clientHead,
      );
      const forward = (chunk: Buffer): void => {
        socket.pause();
        void tunnel.send('binary', chunk).then(() => socket.resume());
      };
      if (head.length > 0) forward(head);
      socket.on('data', forward);
      socket.on('drain', () => tunnel.resume(socket));
      for (const event of ['end', 'error', 'close']) socket.on(event, () => tunnel.close(closeCodes.normal));
      if (socket.destroyed) tunnel.close(closeCodes.normal);
      void tunnel.closed.then(() => {
        socket.end();
        socket.resume();
        client.once('close', () => socket.destroy());
      });
    },
  };
}
