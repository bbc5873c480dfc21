// Connections to aggregated API servers.

import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';

import { setTimeout } from '../../machine/timers.ts';
import type { User } from '../../api/user.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { BackendRequest, BackendTls, NodeClient } from '../nodes/node-client.ts';
import { readText } from '../nodes/node-client.ts';
import { readCertificates } from '../pki/renewal.ts';
import { endpointOf } from '../webhooks/address.ts';
import type { RemoteVersion } from './remote-versions.ts';

/** How this server proves to aggregated servers that it passes requests on, PEM. */
export interface FrontProxy {
  readonly cert: string;
  readonly key: string;
  /** The authority of the certificate. */
  readonly ca: string;
}

/** A caBundle cannot be parsed. */
export class TransportError extends Error {
  readonly code = 'TRANSPORT';
}

export type Target = Pick<BackendRequest, 'scheme' | 'address' | 'isNode' | 'tls'>;

/** Where to send a request for the version. Throws if the Service has no endpoint, or the caBundle is invalid. */
export function targetOf(
  { apiService, service }: RemoteVersion,
  watchCache: WatchCache,
  frontProxy: FrontProxy | undefined,
): Target & { readonly tls: BackendTls } {
  const { caBundle = '', insecureSkipTLSVerify = false } = apiService.spec;
  const ca = Buffer.from(caBundle, 'base64').toString();
  if (ca !== '' && !hasCertificate(ca)) {
    throw new TransportError('unable to load root certificates: unable to parse bytes as PEM block');
  }
  return {
    scheme: 'https',
    address: endpointOf(service, watchCache),
    isNode: false,
    tls: {
      servername: `${service.name}.${service.namespace}.svc`,
      rejectUnauthorized: !insecureSkipTLSVerify,
      ...(ca === '' ? {} : { ca, allowPartialTrustChain: true }),
      ...(frontProxy === undefined ? {} : { cert: frontProxy.cert, key: frontProxy.key }),
    },
  };
}

function hasCertificate(pem: string): boolean {
  try {
    return readCertificates(pem).length > 0;
  } catch {
    return false; // a damaged certificate
  }
}

/** The headers that name the user of a request to a server that trusts the front proxy. */
export function userHeaders({ name, uid, groups, extra = {} }: User): OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = { 'x-remote-user': headerText(name) };
  if (uid !== '') headers['x-remote-uid'] = headerText(uid);
  if (groups.length > 0) headers['x-remote-group'] = groups.map(headerText);
  for (const [key, values] of Object.entries(extra))
    headers[`${extraPrefix}${escapedKey(key)}`] = values.map(headerText);
  return headers;
}

const extraPrefix = 'x-remote-extra-';

/** The same headers of a client, which must not reach the server: only this server names users. */
export const isUserHeader = (name: string): boolean =>
  name === 'x-remote-user' || name === 'x-remote-uid' || name === 'x-remote-group' || name.startsWith(extraPrefix);

/** Go sends the bytes of the text; Node sends the characters of a string as bytes. */
const headerText = (text: string): string => Buffer.from(text).toString('latin1');

/** A key of extra as a part of a header name: other characters than those of names are percent-encoded. */
const escapedKey = (key: string): string =>
  Array.from(Buffer.from(key), (byte) => {
    const character = String.fromCharCode(byte);
    return /[\w!#$&'*+.^`|~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');

/** Requests of this server itself. */
const aggregator: User = { name: 'system:kube-aggregator', uid: '', groups: ['system:masters'] };

/** Longer documents are not read. */
const maxDocumentBytes = 16 << 20;

/** A document of an aggregated server. */
export interface RemoteDocument {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** Requests a document from an aggregated server, as this server itself. Rejects with the message that Go has. */
export async function fetchDocument(
  nodes: NodeClient,
  target: Target,
  {
    path,
    headers = {},
    signal,
  }: { readonly path: string; readonly headers?: OutgoingHttpHeaders; readonly signal: AbortSignal },
): Promise<RemoteDocument> {
  const response = await nodes.send({
    ...target,
    path,
    method: 'GET',
    headers: { accept: 'application/json', ...headers, ...userHeaders(aggregator) },
    signal,
  });
  try {
    const text = await readText(response, maxDocumentBytes);
    signal.throwIfAborted();
    return { status: response.statusCode ?? 0, headers: response.headers, text };
  } finally {
    if (!response.complete) response.destroy();
  }
}

/** Runs a request that is aborted after `ms`, or when `closed` aborts. */
export async function fetchBefore(
  ms: number,
  request: (signal: AbortSignal) => Promise<RemoteDocument>,
  closed?: AbortSignal,
): Promise<RemoteDocument> {
  const stop = new AbortController();
  const end = (): void => stop.abort();
  const timer = setTimeout(end, ms);
  closed?.addEventListener('abort', end);
  try {
    return await request(stop.signal);
  } finally {
    clearTimeout(timer);
    closed?.removeEventListener('abort', end);
  }
}
