import { messageOf } from '../api/error-message.ts';
import { failure, internalError, isStatusError } from '../api/errors.ts';
import type { Kind } from '../api/kind.ts';
import { impersonate } from './access/identity/impersonation.ts';
import { issuerReply } from './access/identity/issuer-documents.ts';
import type { Auditor } from './audit/auditor.ts';
import type { ServerContext } from './context.ts';
import type { DocumentOptions } from './nonresource/documents.ts';
import { documentFor } from './nonresource/documents.ts';
import type { HealthCheck } from './nonresource/health.ts';
import { health } from './nonresource/health.ts';
import type { FlowControl } from './limits/flow-control.ts';
import { tooManyRequests } from './limits/flow-control.ts';
import { classify, costOf } from './limits/classify.ts';
import type { ServerMetrics } from './metrics.ts';
import { encodeReply } from './negotiate/encode.ts';
import type { ApiRequest, BodyReply, ListReply, Reply } from './reply.ts';
import { methodNotAllowed, pathNotFound, resourceNotFound, statusReply } from './reply.ts';
import type { RequestInfo } from './request.ts';
import { parseRequest } from './request.ts';
import type { Resource } from './resource.ts';
import { answerReview } from './reviews/answer.ts';
import { QuotaExceededError, StoreUnavailableError } from '../store/errors.ts';
import { warningHeaders } from './warnings.ts';
import { dispatchVerb } from './verbs/dispatch.ts';
import { pathSupport } from './verbs/path-support.ts';

export interface HandlerOptions {
  readonly context: ServerContext;
  readonly kinds: readonly Kind[];
  readonly documents: DocumentOptions;
  readonly checks: readonly HealthCheck[];
  readonly metrics: ServerMetrics;
  readonly limits: FlowControl;
  /** Undefined: nothing is written down. */
  readonly audit: Auditor | undefined;
}

/** A resource with its objects, or a kind that has none. */
type ServedResource = Resource | { readonly kind: Kind; readonly cache: undefined };

/** Answers requests: what `kubectl` reaches over HTTPS, and what parts in the same process call directly. */
export class Handler {
  readonly #options: HandlerOptions;
  /** group/version/plural → what is served there */
  readonly #kinds: ReadonlyMap<string, ServedResource>;
  readonly #groups: ReadonlySet<string>;

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#groups = new Set(options.kinds.map(({ group }) => group));
    const { watchCache } = options.context;
    this.#kinds = new Map(
      options.kinds.map((kind) => [
        `${kind.group}/${kind.version}/${kind.plural}`,
        { kind, cache: kind.stored ? watchCache.of(kind) : undefined },
      ]),
    );
  }

  /** Never rejects: every failure is a reply. */
  async handle(sent: ApiRequest): Promise<Reply> {
    const { context, metrics, audit } = this.#options;
    const info = parseRequest(sent.method, sent.url);
    const audited = audit?.begin(sent, info);
    const request = audited?.request ?? sent;
    const resource = info.isResource ? this.#kinds.get(`${info.group}/${info.version}/${info.resource}`) : undefined;
    const measured = metrics.begin(info, { isServed: resource !== undefined, type: request.header('content-type') });
    const warnings: string[] = [];
    const acting = this.#actingAs(request);
    const reply =
      'user' in acting ? await this.#inTurn(acting, info, { resource, warnings }) : encodeReply(acting, request, info);
    measured.answered(reply.status);
    const id = auditId(request, context);
    const impersonated = 'user' in acting && acting !== request ? acting.user : undefined;
    audited?.answered({ id, reply, impersonated });
    const headers = {
      'Audit-Id': id,
      ...(warnings.length > 0 ? { Warning: warningHeaders(warnings) } : {}),
      ...reply.headers,
    };
    if (!('stream' in reply)) return { ...reply, headers };
    return {
      status: reply.status,
      headers,
      stream(sink) {
        sink.onClose(measured.watching());
        if (audited !== undefined) sink.onClose(() => audited.ended());
        reply.stream(sink);
      },
    };
  }

  /** The answer to a request whose credentials are wrong. */
  unauthorized(request: ApiRequest): Reply {
    const { audit, context } = this.#options;
    const info = parseRequest(request.method, request.url);
    const reply = statusReply(unauthorized.status);
    const id = auditId(request, context);
    audit?.begin(request, info)?.answered({ id, reply, impersonated: undefined });
    return { ...reply, headers: { 'Audit-Id': id, ...reply.headers } };
  }

  /** The request as whom it asks to be taken for; a refusal when they may not. */
  #actingAs(request: ApiRequest): ApiRequest | Reply {
    const { impersonation } = request;
    if (impersonation === undefined) return request;
    const { access } = this.#options.context;
    try {
      return impersonate(request, impersonation, (user, thing) =>
        access.requireAttributes(user, { isResource: true, verb: 'impersonate', ...thing }),
      );
    } catch (error) {
      return this.#failed(error, request);
    }
  }

  /** Answers once the user's turn has come; a long list keeps its place until it is sent. */
  async #inTurn(
    request: ApiRequest,
    info: RequestInfo,
    asked: { readonly resource: ServedResource | undefined; readonly warnings: string[] },
  ): Promise<Reply> {
    const { context, limits } = this.#options;
    const turn = classify(request, info);
    const isBounded = turn.level === 'readOnly' || turn.level === 'mutating';
    if (isBounded && !context.unsent.hasRoom(turn.flow)) return tooManyRequests();
    const bytes = Number(request.header('content-length') ?? 0) || 0;
    const cost = costOf(info, { objects: asked.resource?.cache?.size ?? 0, bytes });
    const entry = limits.enter(turn, cost);
    // Nothing is awaited when there is no wait: a tick more for everyone would be a cost for everyone.
    if (entry !== 'admitted' && (await entry) !== 'admitted') return tooManyRequests();
    if (entry !== 'admitted' && request.isAborted?.() === true) {
      limits.leave(turn, cost);
      return tooManyRequests(); // which nobody reads
    }
    const made = await this.#answer(request, info, asked).catch((error: unknown) => this.#failed(error, request));
    const reply = encodeReply(made, request, info);
    const answer = turn.isMutating ? limits.startReply(turn) : 'now';
    if (answer !== 'now') await answer;
    if ('stream' in reply) {
      limits.leave(turn, cost);
      return reply;
    }
    const openAccount: BodyReply['openAccount'] = (output) => context.unsent.open(turn.flow, output);
    if (typeof reply.body === 'string' || Buffer.isBuffer(reply.body)) {
      limits.leave(turn, cost);
      return { ...reply, openAccount };
    }
    let isReleased = false;
    const release = (): void => {
      if (!isReleased) limits.leave(turn, cost);
      isReleased = true;
    };
    return { ...reply, openAccount, release, pace: () => context.flusher.turn(turn.flow) };
  }

  async #answer(
    request: ApiRequest,
    info: RequestInfo,
    { resource, warnings }: { readonly resource: ServedResource | undefined; readonly warnings: string[] },
  ): Promise<Reply | ListReply> {
    this.#options.context.access.require(request.user, info);
    checkTimeout(info);
    if (!info.isResource) return this.#answerPath(request, info.path, info.query);
    const endpoint = resource === undefined ? 'absent' : pathSupport(resource.kind, info);
    if (resource === undefined || endpoint === 'absent') return this.#notFound(info.path);
    if (endpoint === 'refuses') return methodNotAllowed();
    const { context } = this.#options;
    if (resource.cache === undefined) return answerReview(context, resource.kind, info, { request, warnings });
    return dispatchVerb(context, resource, info, { request, warnings });
  }

  async #answerPath(request: ApiRequest, path: string, query: URLSearchParams): Promise<Reply> {
    const { context, documents, checks, metrics } = this.#options;
    const { accountTokens } = context.identity;
    const reply =
      health(path, query, checks) ??
      documentFor(path, query, { request, options: documents }) ??
      (await issuerReply(path, accountTokens, documents.address));
    if (reply !== undefined) return request.method === 'GET' || request.method === 'HEAD' ? reply : methodNotAllowed();
    if (path !== '/metrics') return this.#notFound(path);
    const { body, contentType } = await metrics.text();
    return { status: 200, headers: { 'Content-Type': contentType }, body };
  }

  /** A group that is served answers with a Status, everything else in plain text. */
  #notFound(path: string): Reply {
    const [, root, group = ''] = path.split('/');
    if (root === 'api') return resourceNotFound();
    return root === 'apis' && this.#groups.has(group) ? resourceNotFound() : pathNotFound();
  }

  #failed(error: unknown, request: ApiRequest): Reply {
    if (isStatusError(error)) return statusReply(error.status);
    if (error instanceof QuotaExceededError) return statusReply(failure({ code: 500, message: error.message }).status);
    const { log } = this.#options.context;
    const [method, url] = [request.method, request.url.split('?')[0]];
    if (error instanceof StoreUnavailableError) {
      log.warn({ why: error.message, method, url }, 'request failed'); // without a stack: there may be many
      return statusReply(unavailable(error.message).status);
    }
    log.error({ err: error, method, url }, 'request failed');
    return statusReply(internalError(messageOf(error)).status);
  }
}

/** As in Kubernetes: what clients make up is kept no longer than this. */
const maxAuditIdLength = 64;

const auditId = (request: ApiRequest, { uid }: ServerContext): string =>
  request.header('audit-id')?.slice(0, maxAuditIdLength) ?? uid();

const unauthorized = failure({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' });

/** `?timeout=` must be a duration; requests here are far quicker than any. */
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
