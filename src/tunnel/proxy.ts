import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { Duplex } from 'node:stream';

import { messageOf } from '../api/error-message.ts';
import type { Hub } from './hub.ts';
import { join } from '../streams/http2-session.ts';

const headersMs = 10_000;

/** An HTTP proxy to the API servers of connected clusters: the host of a CONNECT request is the name of the cluster. */
export function tunnelProxy(hub: Pick<Hub, 'open' | 'clusters'>): Server {
  const server = createServer({ headersTimeout: headersMs }, (_, response) => {
    response.writeHead(405, { 'Content-Type': 'text/plain', Allow: 'CONNECT' });
    response.end(
      `this is the proxy of a tunnel: use it as proxy-url of a kubeconfig\nconnected: ${hub.clusters.join(', ')}\n`,
    );
  });
  server.on('connect', ({ url = '' }, client: Duplex, head: Buffer) => {
    client.on('error', () => client.destroy());
    const cluster = url.replace(/:\d+$/, '');
    hub.open(cluster).then(
      (stream) => {
        if (client.destroyed) {
          stream.destroy();
          return;
        }
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        if (head.length > 0) stream.write(head);
        join(client, stream);
      },
      (error: unknown) => {
        const body = `${messageOf(error)}\n`;
        const headers = `Content-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close`;
        client.end(`HTTP/1.1 502 Bad Gateway\r\n${headers}\r\n\r\n${body}`);
      },
    );
  });
  return server;
}
