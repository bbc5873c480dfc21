// The subresource `proxy` of Nodes, Pods and Services: requests for a program behind the server.

import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';

import { endpointAddressErrors } from '../../api/address-errors.ts';
import { joinHostPort } from '../../api/addresses.ts';
import { badRequest, failure, notFound } from '../../api/errors.ts';
import { goErrorText } from '../../api/go-error-text.ts';
import { isExternalName } from '../../api/kinds/core/service/facts.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { admitConnect } from '../admission/connect.ts';
import type { ServerContext } from '../context.ts';
import type { ApiCall, ApiRequest, Headers, Reply, UpgradeReply } from '../reply.ts';
import { methodNotAllowed } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { readyEndpoints } from '../webhooks/address.ts';
import { limited } from './limited.ts';
import type { NodeAddress } from './node-address.ts';
import { nodeAddressOf } from './node-address.ts';
import type { BackendRequest } from './node-client.ts';
import { passUpgrade } from './passthrough.ts';
import { rewriteLinks, rewriteLocation } from './rewrite.ts';
import { streamResponse } from './response-stream.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
/** Headers between two connections (RFC 9110 §7.6.1), which are not passed on. */
const hopHeaders = [
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
];
/** A page with more than this is passed on with its links as they are. */
const maxPageBytes = 4 << 20;

type Target = Pick<BackendRequest, 'scheme' | 'address' | 'isNode'>;

/** Passes a request on, and its response back. */
export async function proxy(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  call: ApiCall,
): Promise<Reply | UpgradeReply> {
  const { request } = call;
  const { proxyPath = '', path } = info;
  if (!methods.includes(request.method)) return methodNotAllowed();
  await admitConnect(context, resource, info, call);
  const target = targetOf(context, resource, info);
  const question = request.url.indexOf('?');
  const query = question < 0 ? '' : request.url.slice(question);
  const headers = forwardedHeaders(request);
  if (request.isUpgrade === true) {
    const upgrading = { ...headers, connection: 'Upgrade', upgrade: request.header('upgrade') ?? '' };
    const backend = { ...target, path: `${proxyPath || '/'}${query}`, method: request.method, headers: upgrading };
    return limited(context, request, (signal) => passUpgrade(context.nodes, { ...backend, signal }));
  }
  // Relative links of a page at the root need the slash.
  if (proxyPath === '' && (request.method === 'GET' || request.method === 'HEAD')) {
    return { status: 301, headers: { Location: `${path}/${query}` }, body: '' };
  }
  const prefix = proxyPath === '' ? path : path.slice(0, -proxyPath.length);
  const backend = { ...target, path: `${proxyPath || '/'}${query}`, method: request.method };
  const own = {
    'x-forwarded-uri': path,
    ...(request.header('host') ? { 'x-forwarded-host': request.header('host') } : {}),
  };
  return limited(context, request, async (signal) => {
    const response = await context.nodes
      .send({ ...backend, headers: { ...headers, ...own }, body: request.bodyStream, signal })
      .catch((error: unknown) => {
        throw unavailable(`error trying to reach service: ${goErrorText(error)}`);
      });
    return replyOf(response, { prefix, target, host: request.header('host') ?? '' });
  });
}

async function replyOf(
  response: IncomingMessage,
  { prefix, target, host }: { readonly prefix: string; readonly target: Target; readonly host: string },
): Promise<Reply> {
  const status = response.statusCode ?? 502;
  const headers = responseHeaders(response);
  const { location } = response.headers;
  if (location !== undefined) {
    const hosts = [joinHostPort(target.address.host, target.address.port), host];
    return streamResponse(response, {
      status,
      headers: { ...headers, location: rewriteLocation(location, { prefix, hosts }) },
    });
  }
  const isPage = /^text\/html\s*(?:;|$)/i.test(response.headers['content-type'] ?? '');
  if (!isPage || response.headers['content-encoding'] !== undefined)
    return streamResponse(response, { status, headers });
  const page = await readPage(response);
  if (page.hasMore) {
    response.unshift(page.start);
    return streamResponse(response, { status, headers });
  }
  delete headers['content-length'];
  return { status, headers, body: rewriteLinks(page.start.toString('latin1'), prefix, 'latin1') };
}

/** The whole page, or its first bytes. */
async function readPage(response: IncomingMessage): Promise<{ readonly start: Buffer; readonly hasMore: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response.iterator({ destroyOnReturn: false })) {
      chunks.push(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (size > maxPageBytes) return { start: Buffer.concat(chunks), hasMore: true };
    }
  } catch (error) {
    throw unavailable(`error trying to reach service: ${goErrorText(error)}`);
  }
  return { start: Buffer.concat(chunks), hasMore: false };
}

const unavailable = (message: string): Error => failure({ code: 503, reason: 'ServiceUnavailable', message });

/** The headers of a request that is passed on. */
export function forwardedHeaders(request: ApiRequest): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { ...request.headers?.() };
  for (const name of hopHeaders) delete headers[name];
  const before = request.header('x-forwarded-for');
  const { remoteAddress } = request;
  if (remoteAddress !== undefined)
    headers['x-forwarded-for'] = before === undefined ? remoteAddress : `${before}, ${remoteAddress}`;
  return headers;
}

/** The headers of a response that is passed on. */
export function responseHeaders({ headers }: IncomingMessage): Record<string, Headers[string]> {
  const kept = Object.entries(headers).flatMap(([name, value]): [string, Headers[string]][] =>
    value === undefined || hopHeaders.includes(name) ? [] : [[name, value]],
  );
  return Object.fromEntries(kept);
}

/** `name`, `name:port` or `scheme:name:port`. */
function parseName(
  text: string,
  resource: string,
): { readonly scheme: 'http' | 'https'; readonly name: string; readonly port: string } {
  const parts = text.split(':');
  const [scheme = '', name = '', port = ''] = parts.length === 3 ? parts : ['', ...parts];
  if (parts.length > 3 || name === '' || !['', 'http', 'https'].includes(scheme)) {
    throw badRequest(`invalid ${resource.slice(0, -1)} request ${JSON.stringify(text)}`);
  }
  return { scheme: scheme === 'https' ? 'https' : 'http', name, port };
}

function targetOf(context: ServerContext, { kind, cache }: Resource, info: ResourceRequest): Target {
  const { scheme, name, port } = parseName(info.name, kind.plural);
  const object = cache.get(cache.key(info.namespace, name))?.object;
  if (object === undefined) throw notFound({ group: '', resource: kind.plural, name });
  const find = targets[kind.plural];
  if (find === undefined) throw new Error(`bug: ${kind.plural} have no proxy`);
  return find(context, object, { scheme, port });
}

type Wanted = Pick<ReturnType<typeof parseName>, 'scheme' | 'port'>;

const targets: Readonly<Record<string, (context: ServerContext, object: ApiObject, wanted: Wanted) => Target>> = {
  nodes(context, object, { scheme, port }) {
    const own = nodeAddressOf(object.metadata.name ?? '', object as Node, context.nodes.addressTypes);
    // The server of the node itself: with our client certificate.
    if (port === '' || Number(port) === own.port) return { scheme: 'https', address: own, isNode: true };
    return { scheme, address: allowed(context, { host: own.host, port: portOf(port) }), isNode: false };
  },
  pods(context, object, { scheme, port }) {
    const { spec, status } = object as Pod;
    const first = (spec.containers ?? []).flatMap(({ ports }) => ports ?? [])[0]?.containerPort;
    const host = status.podIPs?.[0]?.ip ?? status.podIP ?? '';
    const wanted = port === '' ? (first ?? (scheme === 'https' ? 443 : 80)) : portOf(port);
    return { scheme, address: allowed(context, { host, port: wanted }), isNode: false };
  },
  services(context, object, { scheme, port }) {
    const service = object as Service;
    const { namespace = '', name = '' } = service.metadata;
    const found = /^\d+$/.test(port)
      ? (service.spec.ports ?? []).find((each) => each.port === Number(port))
      : undefined;
    if (/^\d+$/.test(port) && found === undefined) {
      throw unavailable(`no service port ${port} found for service ${JSON.stringify(name)}`);
    }
    const all = isExternalName(service)
      ? []
      : readyEndpoints({ namespace, name }, found === undefined ? port : (found.name ?? ''), context.watchCache);
    const chosen = all[Math.floor(context.random() * all.length)];
    if (chosen === undefined) throw unavailable(`no endpoints available for service ${JSON.stringify(name)}`);
    return { scheme, address: allowed(context, chosen), isNode: false };
  },
};

/** Otherwise an object could direct requests to what only this machine may reach. */
function allowed({ write }: ServerContext, address: NodeAddress): NodeAddress {
  if (endpointAddressErrors(address.host, write.loopbackEndpoints).length > 0) throw badRequest('address not allowed');
  return address;
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535)
    throw unavailable(`error trying to reach service: dial tcp: invalid port ${JSON.stringify(text)}`);
  return port;
}
