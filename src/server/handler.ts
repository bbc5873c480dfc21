import { messageOf } from '../api/error-message.ts';
import { failure, internalError, isStatusError } from '../api/errors.ts';
import { impersonate } from './access/identity/impersonation.ts';
import { issuerReply } from './access/identity/issuer-documents.ts';
import { terminating } from './admission/definitions.ts';
import type { RemoteVersion } from './aggregation/remote-versions.ts';
import { forward, openApiOf, remoteRequestInfo } from './aggregation/proxy.ts';
import type { Auditor } from './audit/auditor.ts';
import type { ServerContext } from './context.ts';
import type { DocumentOptions } from './nonresource/documents.ts';
import { backupPath, backupReply } from './nonresource/backup.ts';
import { documentFor } from './nonresource/documents.ts';
import type { HealthCheck } from './nonresource/health.ts';
import { health } from './nonresource/health.ts';
import type { FlowControl } from './limits/flow-control.ts';
import { tooManyRequests } from './limits/flow-control.ts';
import { classify, costOf } from './limits/classify.ts';
import type { ServerMetrics } from './metrics.ts';
import { encodeReply } from './negotiate/encode.ts';
import type { ApiRequest, BodyReply, ListReply, Reply, UpgradeReply } from './reply.ts';
import { methodNotAllowed, pathNotFound, resourceNotFound, statusReply, warningHeaders } from './reply.ts';
import type { RequestInfo, ResourceRequest } from './request.ts';
import { parseRequest } from './request.ts';
import type { ServedResource } from './served-resources.ts';
import { answerReview } from './reviews/answer.ts';
import { QuotaExceededError, StoreUnavailableError, UnknownOutcomeError } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import { isComputed, readMetrics } from './usage/metrics.ts';
import { dispatchVerb, pathSupport } from './verbs/dispatch.ts';

export interface HandlerOptions {
  readonly context: ServerContext;
  /** The name of the cluster, and its store with values as they are stored. */
  readonly cluster: string;
  readonly rawStore: Store;
  readonly documents: DocumentOptions;
  readonly checks: readonly HealthCheck[];
  readonly metrics: ServerMetrics;
  readonly limits: FlowControl;
  /** Undefined: no audit log. */
  readonly audit: Auditor | undefined;
}

/** Handles requests, from the HTTPS listener and from parts in the same process. */
export class Handler {
  readonly #options: HandlerOptions;

  constructor(options: HandlerOptions) {
    this.#options = options;
  }

  /** Handles a request that does not upgrade its connection; never rejects, since failures are replies. */
  handle(sent: ApiRequest): Promise<Reply> {
    // Only a request with `isUpgrade` has the other reply.
    return this.handleConnection(sent) as Promise<Reply>;
  }

  /** Handles a request, which may continue with another protocol on its connection. */
  async handleConnection(sent: ApiRequest): Promise<Reply | UpgradeReply> {
    const { context, metrics, audit } = this.#options;
    const parsed = parseRequest(sent.method, sent.url);
    const remote = context.aggregation.remotes.ofPath(parsed.path);
    const info = remote === undefined || parsed.isResource ? parsed : remoteRequestInfo(sent.method, parsed);
    const audited = audit?.start(sent, info);
    const request = audited?.request ?? sent;
    const resource =
      info.isResource && remote === undefined
        ? context.resources.at(info.group, info.version, info.resource)
        : undefined;
    const recorded = metrics.begin(info, { isServed: resource !== undefined, type: request.header('content-type') });
    const warnings: string[] = [];
    const effective = this.#impersonate(request);
    const reply =
      'user' in effective
        ? await this.#withFlowControl(effective, info, { resource, remote, warnings })
        : encodeReply(effective, request, info);
    recorded.replied(reply.status);
    const id = auditId(request, context);
    const impersonated = 'user' in effective && effective !== request ? effective.user : undefined;
    audited?.responded({ id, reply, impersonated });
    const headers = {
      'Audit-Id': id,
      ...(warnings.length > 0 ? { Warning: warningHeaders(warnings) } : {}),
      ...reply.headers,
    };
    if ('upgrade' in reply) {
      return {
        status: reply.status,
        headers: reply.headers, // only those of the handshake
        upgrade(socket, head) {
          socket.once('close', recorded.watchStarted());
          if (audited !== undefined) socket.once('close', () => audited.ended());
          reply.upgrade(socket, head);
        },
      };
    }
    if (!('stream' in reply)) return { ...reply, headers };
    return {
      ...reply,
      headers,
      stream(sink) {
        sink.onClose(recorded.watchStarted());
        if (audited !== undefined) sink.onClose(() => audited.ended());
        reply.stream(sink);
      },
    };
  }

  /** The reply to a request without valid credentials. */
  unauthorized(request: ApiRequest): Reply {
    const { audit, context } = this.#options;
    const info = parseRequest(request.method, request.url);
    const reply = statusReply(unauthorized.status);
    const id = auditId(request, context);
    audit?.start(request, info)?.responded({ id, reply, impersonated: undefined });
    return { ...reply, headers: { 'Audit-Id': id, ...reply.headers } };
  }

  /** The request as the impersonated user, or an error reply if impersonation is not allowed. */
  #impersonate(request: ApiRequest): ApiRequest | Reply {
    const { impersonation } = request;
    if (impersonation === undefined) return request;
    const { access } = this.#options.context;
    try {
      return impersonate(request, impersonation, (user, thing) =>
        access.requireAttributes(user, { isResource: true, verb: 'impersonate', ...thing }),
      );
    } catch (error) {
      return this.#failureReply(error, request);
    }
  }

  /** Serves the request once flow control admits it; a long list keeps its seats until it is sent. */
  async #withFlowControl(
    request: ApiRequest,
    info: RequestInfo,
    target: {
      readonly resource: ServedResource | undefined;
      readonly remote: RemoteVersion | undefined;
      readonly warnings: string[];
    },
  ): Promise<Reply | UpgradeReply> {
    const { context, limits } = this.#options;
    const requestClass = classify(request, info);
    const { level, flow, isMutating } = requestClass;
    if ((level === 'readOnly' || level === 'mutating') && !context.unsent.hasRoom(flow)) return tooManyRequests();
    const bytes = Number(request.header('content-length') ?? 0) || 0;
    const cost = costOf(info, { objects: target.resource?.cache?.size ?? 0, bytes });
    const admission = limits.enter(requestClass, cost);
    // An await costs a tick even for a value that is there, so it is skipped where nothing has to wait.
    if (admission !== 'admitted') {
      if ((await admission) !== 'admitted') return tooManyRequests();
      if (request.isAborted?.() === true) {
        limits.leave(requestClass, cost);
        return tooManyRequests(); // the client has disconnected
      }
    }
    if (target.remote !== undefined) {
      // An aggregated server that stalls must not occupy the seats of others. Its own limit applies.
      limits.leave(requestClass, cost);
      return this.#forward(request, info, target.remote);
    }
    const served = await this.#serve(request, info, target).catch((error: unknown) =>
      this.#failureReply(error, request),
    );
    const reply = encodeReply(served, request, info);
    const start = isMutating ? limits.startReply(requestClass) : 'now';
    if (start !== 'now') await start;
    if ('stream' in reply || 'upgrade' in reply) {
      limits.leave(requestClass, cost);
      return reply;
    }
    const openAccount: BodyReply['openAccount'] = (output) => context.unsent.open(flow, output);
    if (typeof reply.body === 'string' || Buffer.isBuffer(reply.body)) {
      limits.leave(requestClass, cost);
      return { ...reply, openAccount };
    }
    let isReleased = false;
    const release = (): void => {
      if (!isReleased) limits.leave(requestClass, cost);
      isReleased = true;
    };
    return { ...reply, openAccount, release, pace: () => context.flusher.turn(flow) };
  }

  /** Passes the request on to the server that serves its group. */
  async #forward(request: ApiRequest, info: RequestInfo, remote: RemoteVersion): Promise<Reply | UpgradeReply> {
    const { context } = this.#options;
    try {
      context.access.require(request.user, info);
      return await forward(context, remote, info, request);
    } catch (error) {
      return this.#failureReply(error, request);
    }
  }

  async #serve(
    request: ApiRequest,
    info: RequestInfo,
    { resource: known, warnings }: { readonly resource: ServedResource | undefined; readonly warnings: string[] },
  ): Promise<Reply | ListReply | UpgradeReply> {
    this.#options.context.access.require(request.user, info);
    checkTimeout(info);
    if (!info.isResource) return this.#serveNonResource(request, info.path, info.query);
    const resource = known ?? (await this.#awaitResource(info));
    const support = resource === undefined ? 'not found' : pathSupport(resource.kind, info);
    if (resource === undefined || support === 'not found') return this.#notFound(info.path);
    if (support === 'not allowed') return methodNotAllowed();
    const { context } = this.#options;
    if (info.verb === 'create' && context.resources.isTerminating(resource.kind)) throw terminating();
    if (isComputed(resource.kind)) return readMetrics(context, resource.kind, info, { request, warnings });
    if (resource.cache === undefined) return answerReview(context, resource.kind, info, { request, warnings });
    return dispatchVerb(context, resource, info, { request, warnings });
  }

  /** A custom resource that another server serves already, because its definition was established there. */
  async #awaitResource({ group, version, resource }: ResourceRequest): Promise<ServedResource | undefined> {
    const { store, resources } = this.#options.context;
    if (!store.isShared || !group.includes('.')) return undefined;
    await store.sync();
    await resources.settled();
    return resources.at(group, version, resource);
  }

  async #serveNonResource(request: ApiRequest, path: string, query: URLSearchParams): Promise<Reply> {
    const { context, documents, checks, metrics, rawStore, cluster } = this.#options;
    const { accountTokens } = context.identity;
    const remote = path.startsWith('/openapi/v3/apis/')
      ? context.aggregation.remotes.ofPath(path.slice('/openapi/v3'.length))
      : undefined;
    if (remote !== undefined) return openApiOf(context, remote);
    const reply =
      health(path, query, checks) ??
      (await documentFor(path, query, { request, options: documents })) ??
      (await issuerReply(path, accountTokens, documents.address)) ??
      (path === backupPath ? await backupReply(rawStore, cluster, context.clock()) : undefined);
    if (reply !== undefined) return request.method === 'GET' || request.method === 'HEAD' ? reply : methodNotAllowed();
    if (path !== '/metrics') return this.#notFound(path);
    const { body, contentType } = await metrics.text();
    return { status: 200, headers: { 'Content-Type': contentType }, body };
  }

  /** As in Kubernetes, unknown paths of its own groups get a Status, those of custom resources and all others plain text. */
  #notFound(path: string): Reply {
    const [, root, group = ''] = path.split('/');
    if (root === 'api') return resourceNotFound();
    return root === 'apis' && this.#options.context.resources.isOwnGroup(group) ? resourceNotFound() : pathNotFound();
  }

  #failureReply(error: unknown, request: ApiRequest): Reply {
    if (isStatusError(error)) return statusReply(error.status);
    if (error instanceof QuotaExceededError) return statusReply(failure({ code: 500, message: error.message }).status);
    const { log, store } = this.#options.context;
    const [method, url] = [request.method, request.url.split('?')[0]];
    if (error instanceof StoreUnavailableError) {
      // The monitor of the store logs its failure once.
      const level = store.status().failure === undefined ? 'warn' : 'debug';
      log[level]({ reason: error.message, method, url }, 'request failed');
      return statusReply(unavailable(error.message).status);
    }
    if (error instanceof UnknownOutcomeError) {
      log.warn({ reason: error.message, method, url }, 'request failed');
      return statusReply(failure({ code: 504, reason: 'Timeout', message: error.message }).status);
    }
    log.error({ err: error, method, url }, 'request failed');
    return statusReply(internalError(messageOf(error)).status);
  }
}

/** IDs of clients are truncated to this length, as in Kubernetes. */
const maxAuditIdLength = 64;

const auditId = (request: ApiRequest, { uid }: ServerContext): string =>
  request.header('audit-id')?.slice(0, maxAuditIdLength) ?? uid();

const unauthorized = failure({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' });

/** Checks that `?timeout=` is a duration; it has no other effect, since requests finish quickly. */
function checkTimeout(info: RequestInfo): void {
  const timeout = info.query.get('timeout');
  if (timeout === null || timeout === '' || /^[+-]?(?:(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+|0)$/.test(timeout))
    return;
  const why = /^[+-]?\d+(?:\.\d+)?$/.test(timeout) ? 'missing unit in duration' : 'invalid duration';
  throw failure({
    code: 400,
    reason: 'BadRequest',
    message: `invalid timeout specified in the request URL - time: ${why} ${JSON.stringify(timeout)}`,
  });
}

const unavailable = (why: string): ReturnType<typeof failure> =>
  failure({ code: 503, reason: 'ServiceUnavailable', message: why, details: { retryAfterSeconds: 1 } });
