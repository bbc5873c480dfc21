// An aggregated API server for tests: over TLS, it serves a version of a group to clients of the front proxy.

import { X509Certificate } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import { createServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import type { KeyPair } from '../pki/issue.ts';
import { issue, issueCa } from '../pki/issue.ts';

export interface ExtensionOptions {
  readonly group: string;
  readonly version: string;
  /** The namespace and the name of its Service, which its certificate is for. */
  readonly service: { readonly namespace: string; readonly name: string };
  /** The authorities that sign front proxies, PEM. */
  readonly requestHeaderCa: string;
  readonly allowedNames: readonly string[];
  /** The resources in its discovery. */
  readonly resources: readonly object[];
  /** Answers authenticated requests that are not discovery. */
  readonly handle?: (request: IncomingMessage, response: ServerResponse) => void;
  /** Days from now until its certificate expires; default: 1. */
  readonly certificateDays?: number;
}

/** A running server. */
export interface Extension extends AsyncDisposable {
  readonly server: Server;
  readonly port: number;
  /** The authority of its certificate, base64 for a caBundle. */
  readonly caBundle: string;
  /** The requests that were authenticated. */
  readonly requests: readonly {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingMessage['headers'];
  }[];
  /** How many requests had no certificate of the front proxy. */
  readonly rejected: number;
}

/** Sends JSON. */
export function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
}

/** Starts a server on a free port of `host`. */
export async function startExtension(options: ExtensionOptions, host = '127.0.0.1'): Promise<Extension> {
  const { group, version, service, allowedNames, resources, certificateDays = 1 } = options;
  const now = new Date();
  const ca: KeyPair = await issueCa('extension-ca', { now, days: 1 });
  const names = { dns: [`${service.name}.${service.namespace}.svc`], ips: [] };
  const serving = await issue(ca, { use: 'server', commonName: service.name, names }, { now, days: certificateDays });
  const requests: { method: string; url: string; headers: IncomingMessage['headers'] }[] = [];
  const state = { rejected: 0 };
  const isFrontProxy = (socket: TLSSocket): boolean => {
    if (!socket.authorized) return false;
    const certificate = socket.getPeerX509Certificate();
    return certificate instanceof X509Certificate && allowedNames.includes(commonNameOf(certificate));
  };
  const server = createServer(
    { ...serving, ca: options.requestHeaderCa, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      const url = request.url ?? '';
      if (!isFrontProxy(request.socket as TLSSocket)) {
        state.rejected++;
        sendJson(response, 401, {
          kind: 'Status',
          apiVersion: 'v1',
          status: 'Failure',
          message: 'Unauthorized',
          reason: 'Unauthorized',
          code: 401,
        });
        return;
      }
      requests.push({ method: request.method ?? '', url, headers: request.headers });
      if (url === `/apis/${group}/${version}`) {
        sendJson(response, 200, {
          kind: 'APIResourceList',
          apiVersion: 'v1',
          groupVersion: `${group}/${version}`,
          resources,
        });
      } else if (options.handle !== undefined) options.handle(request, response);
      else
        sendJson(response, 404, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 });
    },
  );
  server.listen(0, host);
  await once(server, 'listening');
  return {
    server,
    port: (server.address() as AddressInfo).port,
    caBundle: Buffer.from(ca.cert).toString('base64'),
    requests,
    get rejected() {
      return state.rejected;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const commonNameOf = ({ subject }: X509Certificate): string => /^CN=(.*)$/m.exec(subject)?.[1] ?? '';
