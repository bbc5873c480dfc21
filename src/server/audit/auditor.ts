import type { ApiRequest, Reply, User } from '../reply.ts';
import type { RequestInfo } from '../request.ts';
import type { Audited, RequestObject } from './event.ts';
import { auditLine } from './event.ts';
import type { AuditLog } from './log.ts';
import type { AuditLevel } from './options.ts';
import { isSensitive, isSensitiveObject } from './sensitive.ts';

/** Larger bodies are left out of the log, which says so. */
const maxObjectBytes = 100 << 10;

/** Health and metrics are asked for every few seconds by machines; nobody wants to know. */
const unloggedPaths = /^\/(?:healthz|livez|readyz|metrics)(?:\/|$)/;

/** One request, while it is answered. */
export interface AuditedRequest {
  /** The request, whose body is looked at when it is read. */
  readonly request: ApiRequest;
  /** The answer is known; for a watch, it has begun. */
  answered(answer: { readonly id: string; readonly reply: Reply; readonly impersonated: User | undefined }): void;
  /** The watch has ended. */
  ended(): void;
}

/** Writes down who asked for what. */
export class Auditor {
  readonly #log: AuditLog;
  readonly #level: AuditLevel;
  readonly #clock: () => number;

  constructor(log: AuditLog, level: AuditLevel, clock: () => number) {
    this.#log = log;
    this.#level = level;
    this.#clock = clock;
  }

  /** A request has come; undefined: it is none that is written down. */
  begin(request: ApiRequest, info: RequestInfo): AuditedRequest | undefined {
    if (!info.isResource && unloggedPaths.test(info.path)) return undefined;
    const received = this.#clock();
    let body: Buffer | undefined;
    const keepsBody = this.#level === 'Request' && info.isResource && !isSensitive(info);
    const write = (part: Pick<Audited, 'id' | 'stage' | 'impersonated' | 'reply'>): void => {
      const object = body === undefined ? undefined : objectOf(body);
      const { id, stage, impersonated, reply } = part;
      const [level, now] = [this.#level, this.#clock()];
      this.#log.write(auditLine({ id, stage, impersonated, reply, request, info, level, object, received, now }));
    };
    let answer: Pick<Audited, 'id' | 'impersonated' | 'reply'> | undefined;
    return {
      request: keepsBody ? { ...request, body: async (limit) => (body = await request.body(limit)) } : request,
      answered(given) {
        answer = given;
        write({ ...given, stage: 'stream' in given.reply ? 'ResponseStarted' : 'ResponseComplete' });
      },
      ended() {
        if (answer !== undefined) write({ ...answer, stage: 'ResponseComplete' });
      },
    };
  }
}

/** JSON as it was sent, on one line; other encodings are not kept. */
function objectOf(body: Buffer): RequestObject {
  if (body.length === 0) return undefined;
  if (body.length > maxObjectBytes) return 'too-large';
  const text = body.toString();
  try {
    const value: unknown = JSON.parse(text);
    if (isSensitiveObject(value)) return undefined;
    return { json: /[\r\n]/.test(text) ? JSON.stringify(value) : text };
  } catch {
    return undefined; // YAML or protobuf
  }
}
