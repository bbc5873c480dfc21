import { Readable } from 'node:stream';

import { messageOf } from '../../api/error-message.ts';
import { failure } from '../../api/errors.ts';
import { goErrorText } from '../../api/go-error-text.ts';
import { isAvailable } from '../../api/kinds/apiregistration/apiservice/facts.ts';
import { setTimeout } from '../../machine/timers.ts';
import type { ServerContext } from '../context.ts';
import { limited } from '../nodes/limited.ts';
import { passUpgrade } from '../nodes/passthrough.ts';
import { forwardedHeaders, responseHeaders } from '../nodes/proxy.ts';
import { streamResponse } from '../nodes/response-stream.ts';
import type { ApiRequest, BodyReply, Reply, UpgradeReply } from '../reply.ts';
import { jsonReply, pathNotFound, textReply } from '../reply.ts';
import type { NonResourceRequest, RequestInfo } from '../request.ts';
import { parseRequest } from '../request.ts';
import { fetchBefore, fetchDocument, isUserHeader, targetOf, TransportError, userHeaders } from './backend.ts';
import type { Target } from './backend.ts';
import type { RemoteVersion } from './remote-versions.ts';

/** How long an aggregated server may take for a request that is no watch and no stream, as in kube-apiserver. */
const timeoutMs = 60_000;
/** The largest body of a request from a component in this process, and of its response. */
const maxLocalBytes = 16 << 20;

/** How long a server may take for a document, as in kube-apiserver. */
const documentMs = 5000;

const longRunning = ['attach', 'exec', 'log', 'portforward', 'proxy'];

/**
 * What a request for an aggregated server addresses. Its paths may be longer than those of this server, and are authorized
 * by the subresource, as in kube-apiserver.
 */
export function remoteRequestInfo(method: string, info: NonResourceRequest): RequestInfo {
  const question = info.query.size > 0 ? `?${info.query.toString()}` : '';
  const parts = info.path.split('/');
  for (let length = parts.length - 1; length > 4; length--) {
    const parsed = parseRequest(method, `${parts.slice(0, length).join('/')}${question}`);
    if (parsed.isResource) return { ...parsed, path: info.path };
  }
  return info;
}

/** Passes a request on to the aggregated server of its version, as its user, and the response back. */
export async function forward(
  context: ServerContext,
  remote: RemoteVersion,
  info: RequestInfo,
  request: ApiRequest,
): Promise<Reply | UpgradeReply> {
  if (!isAvailable(remote.apiService)) return unavailable();
  if (isAmbiguous(info.path)) return pathNotFound();
  const { aggregation, nodes, watchCache } = context;
  let target: Target;
  try {
    target = targetOf(remote, watchCache, aggregation.frontProxy);
  } catch (error) {
    if (error instanceof TransportError) return plain(500, error.message);
    context.log.warn({ apiservice: remote.apiService.metadata.name, err: error }, 'an APIService has no endpoint');
    return unavailable();
  }
  const backend = { ...target, path: request.url, method: request.method };
  if (request.isUpgrade === true) {
    const upgrade = { connection: 'Upgrade', upgrade: request.header('upgrade') ?? '' };
    const headers = { ...headersOf(request), ...upgrade };
    return limited(aggregation, request, (signal) =>
      passUpgrade(nodes, { ...backend, headers, signal }).catch((error: unknown) => plain(503, messageOf(error))),
    );
  }
  return limited(aggregation, request, async (ending) => {
    const stop = new AbortController();
    const end = (): void => stop.abort();
    ending.addEventListener('abort', end);
    const timer = isLongRunning(info) ? undefined : setTimeout(end, timeoutMs);
    const finish = (): void => {
      clearTimeout(timer);
      ending.removeEventListener('abort', end);
    };
    try {
      const { headers, body } = await contentOf(request);
      const response = await nodes.send({ ...backend, headers, body, signal: stop.signal });
      response.once('close', finish);
      return await replyOf(response, request);
    } catch (error) {
      finish();
      if (stop.signal.aborted && !ending.aborted) throw timedOut();
      return plain(503, `error trying to reach service: ${goErrorText(error)}`);
    }
  });
}

/** Whether the server could take the path for another one than was authorized. */
const isAmbiguous = (path: string): boolean => /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)|%2f|%5c|\\/i.test(path);

/** The OpenAPI v3 document of an aggregated server, which this server reads as itself. */
export async function openApiOf(context: ServerContext, remote: RemoteVersion): Promise<Reply> {
  if (!isAvailable(remote.apiService)) return unavailable();
  const { aggregation, nodes, watchCache } = context;
  try {
    const target = targetOf(remote, watchCache, aggregation.frontProxy);
    const path = `/openapi/v3/apis/${remote.group}/${remote.version}`;
    const { status, text, headers } = await fetchBefore(documentMs, (signal) =>
      fetchDocument(nodes, target, { path, signal }),
    );
    return jsonReply(status, text, headers.etag === undefined ? {} : { ETag: headers.etag });
  } catch (error) {
    return plain(503, `error trying to reach service: ${goErrorText(error)}`);
  }
}

const isLongRunning = (info: RequestInfo): boolean =>
  info.verb === 'watch' || (info.isResource && longRunning.includes(info.subresource));

const plain = (status: number, text: string): BodyReply => textReply(status, `${text}\n`);

const unavailable = (): BodyReply => plain(503, 'service unavailable');

const timedOut = (): Error =>
  failure({
    code: 504,
    reason: 'Timeout',
    message: 'Timeout: request did not complete within the allotted timeout',
    details: {},
  });

function headersOf(request: ApiRequest): ReturnType<typeof forwardedHeaders> {
  const headers = forwardedHeaders(request);
  for (const name of Object.keys(headers)) if (isUserHeader(name)) delete headers[name];
  delete headers['expect']; // this server has answered it already
  return { ...headers, ...userHeaders(request.user) };
}

/** The headers and the body to send. Requests of this process have their body in memory. */
async function contentOf(
  request: ApiRequest,
): Promise<{ readonly headers: ReturnType<typeof forwardedHeaders>; readonly body: Readable | undefined }> {
  const headers = headersOf(request);
  if (request.bodyStream !== undefined) return { headers, body: request.bodyStream };
  for (const name of ['accept', 'content-type', 'user-agent']) {
    const value = request.header(name);
    if (value !== undefined) headers[name] = value;
  }
  const bytes = await request.body(maxLocalBytes);
  if (bytes.length === 0) return { headers, body: undefined };
  return { headers: { ...headers, 'content-length': bytes.length }, body: Readable.from([bytes]) };
}

type Response = Parameters<typeof streamResponse>[0];

async function replyOf(response: Response, request: ApiRequest): Promise<Reply> {
  const status = response.statusCode ?? 502;
  if (status >= 300 && status <= 399 && (response.headers.location ?? '') !== '') {
    response.destroy();
    // A client must not send its credentials to where an aggregated server wants them.
    return textReply(502, 'the backend attempted to redirect this request, which is not permitted');
  }
  const { 'audit-id': _, ...headers } = responseHeaders(response);
  if (request.bodyStream !== undefined || isStream(request)) return streamResponse(response, { status, headers });
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxLocalBytes) throw new Error(`the response is longer than ${maxLocalBytes} bytes`);
    chunks.push(chunk);
  }
  return { status, headers, body: Buffer.concat(chunks) };
}

/** Whether a component in this process reads the response as a stream. */
const isStream = ({ method, url }: ApiRequest): boolean => parseRequest(method, url).verb === 'watch';
