import { failure, internalError, isStatusError } from '../api/errors.ts';
import type { Kind } from '../api/kind.ts';
import { authorize } from './access/authorize.ts';
import type { ServerContext } from './context.ts';
import type { DocumentOptions } from './endpoints/documents.ts';
import { describe } from './endpoints/documents.ts';
import type { HealthCheck } from './endpoints/health.ts';
import { health } from './endpoints/health.ts';
import type { ServerMetrics } from './metrics.ts';
import { finish } from './negotiate/finish.ts';
import type { ApiRequest, Reply } from './reply.ts';
import { methodNotAllowed, pathNotFound, statusReply } from './reply.ts';
import type { RequestInfo, ResourceRequest } from './request.ts';
import { parseRequest } from './request.ts';
import type { Resource } from './resource.ts';
import { StoreUnavailableError } from '../store/errors.ts';
import { warningHeaders } from './warnings.ts';
import { answerResource } from './verbs/answer.ts';

export interface HandlerOptions {
  readonly context: ServerContext;
  readonly kinds: readonly Kind[];
  readonly documents: DocumentOptions;
  readonly checks: readonly HealthCheck[];
  readonly metrics: ServerMetrics;
}

/** Answers requests: what `kubectl` reaches over HTTPS, and what parts in the same process call directly. */
export class Handler {
  readonly #options: HandlerOptions;
  /** group/version/plural → what is served there */
  readonly #resources: ReadonlyMap<string, Resource>;

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#resources = new Map(
      options.kinds.map((kind) => [
        `${kind.group}/${kind.version}/${kind.plural}`,
        { kind, cache: options.context.hub.cache(kind) },
      ]),
    );
  }

  /** Never rejects: every failure is a reply. */
  async handle(request: ApiRequest): Promise<Reply> {
    const { context, metrics } = this.#options;
    const info = parseRequest(request.method, request.url);
    const done = metrics.begin(info, context.clock);
    const warnings: string[] = [];
    const reply = await this.#answer(request, info, warnings).catch((error: unknown) => this.#failed(error, request));
    const headers = {
      'Audit-Id': request.header('audit-id') ?? context.uid(),
      ...(warnings.length > 0 ? { Warning: warningHeaders(warnings) } : {}),
      ...reply.headers,
    };
    if (!('stream' in reply)) {
      done(reply.status, false);
      return finish({ ...reply, headers }, request, info);
    }
    return {
      status: reply.status,
      headers,
      stream(sink) {
        done(reply.status, true, (end) => sink.onClose(end));
        reply.stream(sink);
      },
    };
  }

  async #answer(request: ApiRequest, info: RequestInfo, warnings: string[]): Promise<Reply> {
    authorize(request.user, info);
    checkTimeout(info);
    if (!info.isResource) return this.#answerPath(request, info.path, info.query);
    const resource = this.#resources.get(`${info.group}/${info.version}/${info.resource}`);
    if (resource === undefined || !fits(resource, info)) return pathNotFound();
    return (await answerResource(this.#options.context, resource, info, { request, warnings })) ?? methodNotAllowed();
  }

  async #answerPath(request: ApiRequest, path: string, query: URLSearchParams): Promise<Reply> {
    const { documents, checks, metrics } = this.#options;
    const reply = health(path, query, checks) ?? describe(path, query, { request, options: documents });
    if (reply !== undefined) return request.method === 'GET' || request.method === 'HEAD' ? reply : methodNotAllowed();
    if (path !== '/metrics') return pathNotFound();
    const { body, contentType } = await metrics.text();
    return { status: 200, headers: { 'Content-Type': contentType }, body };
  }

  #failed(error: unknown, request: ApiRequest): Reply {
    if (isStatusError(error)) return statusReply(error.status);
    const { log } = this.#options.context;
    log.error({ err: error, method: request.method, url: request.url.split('?')[0] }, 'request failed');
    if (error instanceof StoreUnavailableError) return statusReply(unavailable(error.message).status);
    return statusReply(internalError(error instanceof Error ? error.message : String(error)).status);
  }
}

const itemVerbs = ['get', 'delete', 'update', 'patch'];

/** The path is one that the resource has: in a namespace exactly if its objects are. */
function fits({ kind }: Resource, { namespace, verb }: ResourceRequest): boolean {
  if (namespace !== '') return kind.namespaced;
  return !kind.namespaced || !itemVerbs.includes(verb);
}

/** `?timeout=` must be a duration; requests here are far quicker than any. */
function checkTimeout(info: RequestInfo): void {
  const timeout = info.query.get('timeout');
  if (timeout === null || timeout === '' || /^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$|^0$/.test(timeout)) return;
  throw failure({ code: 400, reason: 'BadRequest', message: 'invalid timeout specified in the request URL' });
}

const unavailable = (why: string): ReturnType<typeof failure> =>
  failure({ code: 503, reason: 'ServiceUnavailable', message: why, details: { retryAfterSeconds: 1 } });
