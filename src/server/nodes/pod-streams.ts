// The subresources of Pods that their node serves: exec, attach, portforward and log.

import { badRequest, failure, internalError } from '../../api/errors.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { handshakeHeaders, isWebSocketRequest, offeredProtocols } from '../../streams/websocket/handshake.ts';
import { admitConnect } from '../admission/connect.ts';
import type { ServerContext } from '../context.ts';
import { goErrorText } from '../../api/go-error-text.ts';
import type { ApiCall, ApiRequest, BodyReply, Reply, UpgradeReply } from '../reply.ts';
import { textReply } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import { isTrue } from '../request.ts';
import type { Resource } from '../resource.ts';
import { readItem } from '../verbs/read-item.ts';
import { limited } from './limited.ts';
import type { NodeAddress } from './node-address.ts';
import { nodeAddressOf } from './node-address.ts';
import type { BackendRequest } from './node-client.ts';
import { readText } from './node-client.ts';
import { passUpgrade, upgradeHeaders } from './passthrough.ts';
import { commandParameters, commandStreams, containerOf, logParameters, portParameters } from './pod-options.ts';
import { streamResponse } from './response-stream.ts';
import { translate, translatedProtocol } from './translate.ts';
import { tunnelPrefix, tunnelledProtocols, tunnelUpgrade } from './tunnel.ts';

type StreamReplies = Reply | UpgradeReply;

/** `exec` and `attach`. */
export async function command(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  call: ApiCall,
): Promise<StreamReplies> {
  const { request } = call;
  requireCreate(context, info, request);
  const query = await admitConnect(context, resource, info, call);
  const pod = await podOf(context, resource, info);
  const { subresource } = info;
  const container = containerOf(pod, query.get('container') ?? '');
  const address = hostOf(context, pod);
  requireUpgrade(request);
  const { namespace = '', name = '' } = pod.metadata;
  const parameters = commandParameters(query);
  const location = {
    ...nodeRequest(address, `/${subresource}/${namespace}/${name}/${container}`, parameters),
    method: request.method,
  };
  const header = headerOf(request);
  if (!isWebSocketRequest(header) || !offeredProtocols(header).includes(translatedProtocol)) {
    return limited(context, request, (signal) =>
      passUpgrade(context.nodes, { ...location, headers: upgradeHeaders(request), signal }),
    );
  }
  const headers = handshakeHeaders(header, translatedProtocol);
  if (headers === undefined) return invalidHandshake();
  return limited(context, request, async () => ({
    status: 101,
    headers,
    upgrade(socket, head) {
      // A failure is a Status for the client.
      void translate({ socket, head }, commandStreams(query), { nodes: context.nodes, request: location });
    },
  }));
}

/** `portforward`. */
export async function portForward(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  call: ApiCall,
): Promise<StreamReplies> {
  const { request } = call;
  requireCreate(context, info, request);
  const query = await admitConnect(context, resource, info, call);
  const pod = await podOf(context, resource, info);
  const address = hostOf(context, pod);
  requireUpgrade(request);
  const { namespace = '', name = '' } = pod.metadata;
  const location = nodeRequest(address, `/portForward/${namespace}/${name}`, portParameters(query));
  const header = headerOf(request);
  const tunnelled = isWebSocketRequest(header) ? tunnelledProtocols(header) : [];
  if (tunnelled.length === 0) {
    return limited(context, request, (signal) =>
      passUpgrade(context.nodes, { ...location, method: request.method, headers: upgradeHeaders(request), signal }),
    );
  }
  if (handshakeHeaders(header, '') === undefined) return invalidHandshake();
  const headers = {
    Connection: 'Upgrade',
    Upgrade: 'SPDY/3.1',
    'X-Stream-Protocol-Version': tunnelled.join(', '),
    'Content-Length': '0',
  };
  return limited(context, request, (signal) =>
    passUpgrade(context.nodes, { ...location, method: 'POST', headers, signal }, (backend) =>
      tunnelUpgrade(
        backend,
        (protocol) => handshakeHeaders(header, protocol === '' ? '' : tunnelPrefix + protocol) ?? {},
      ),
    ),
  );
}

/** `log`. */
export async function log(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request }: ApiCall,
): Promise<StreamReplies> {
  const { query } = info;
  const parameters = logParameters(info.name, query);
  const pod = await podOf(context, resource, info);
  const container = containerOf(pod, query.get('container') ?? '');
  if ((pod.spec.nodeName ?? '') === '') return textReply(200, '');
  const address = hostOf(context, pod);
  const { namespace = '', name = '' } = pod.metadata;
  const skipVerification = isTrue(query.get('insecureSkipTLSVerifyBackend'));
  const location = nodeRequest(address, `/containerLogs/${namespace}/${name}/${container}`, parameters);
  return limited(context, request, async (signal) => {
    const response = await context.nodes
      .send({ ...location, method: 'GET', headers: {}, skipVerification, signal })
      .catch((error: unknown) => {
        const { host, port } = address;
        throw internalError(`Get "https://${host}:${port}${location.path}": ${goErrorText(error)}`);
      });
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 206) {
      const text = await readText(response, maxErrorBytes);
      response.destroy();
      throw nodeError(status, text, name);
    }
    return streamResponse(response, { status: 200, headers: { 'Content-Type': 'text/plain' } });
  });
}

const maxErrorBytes = 50_000;

function nodeError(status: number, text: string, name: string): Error {
  if (status === 500) return internalError(text);
  if (status === 400) return badRequest(text);
  const details = { name, kind: 'pods/log', causes: [{ reason: 'UnexpectedServerResponse', message: text }] };
  if (status === 404) {
    const message = `the server could not find the requested resource ( pods/log ${name})`;
    return failure({ code: 404, reason: 'NotFound', message, details });
  }
  const message = `the server responded with the status code ${status} but did not return more information ( pods/log ${name})`;
  return failure({ code: status, reason: status === 403 ? 'Forbidden' : 'InternalError', message, details });
}

/** A WebSocket request is a GET: without this check a user who may only read could run commands. */
function requireCreate({ access }: ServerContext, info: ResourceRequest, { user }: ApiRequest): void {
  if (info.verb !== 'create') access.require(user, { ...info, verb: 'create' });
}

const headerOf =
  (request: ApiRequest): ((name: string) => string | undefined) =>
  (name) =>
    request.header(name);

const requireUpgrade = ({ isUpgrade }: ApiRequest): void => {
  if (isUpgrade !== true) throw badRequest('Upgrade request required');
};

const invalidHandshake = (): BodyReply => textReply(400, 'Bad Request: the WebSocket handshake is not valid\n');

async function podOf(context: ServerContext, resource: Resource, info: ResourceRequest): Promise<Pod> {
  const { object } = await readItem(context, resource, info);
  return object as Pod; // the resource is that of Pods
}

/** The server of the node that runs the Pod. */
function hostOf(context: ServerContext, { metadata, spec }: Pod): NodeAddress {
  const { nodeName = '' } = spec;
  if (nodeName === '') throw badRequest(`pod ${metadata.name} does not have a host assigned`);
  const cache = context.watchCache.of(nodeKind);
  const node = cache.get(cache.key('', nodeName))?.object as Node | undefined;
  return nodeAddressOf(nodeName, node, context.nodes.addressTypes);
}

function nodeRequest(
  address: NodeAddress,
  path: string,
  parameters: URLSearchParams,
): Omit<BackendRequest, 'method' | 'headers'> {
  const query = parameters.toString();
  return { scheme: 'https', address, path: query === '' ? path : `${path}?${query}`, isNode: true };
}
