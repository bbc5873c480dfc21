import type { User } from '../../api/user.ts';
import type { ApiRequest, Reply, UpgradeReply } from '../reply.ts';
import type { RequestInfo } from '../request.ts';
import type { Audited, RequestObject } from './event.ts';
import { auditLine } from './event.ts';
import type { AuditLog } from './log.ts';
import type { AuditLevel } from './options.ts';
import { isSensitive, isSensitiveObject } from './sensitive.ts';

/** Limits of the annotations that webhooks and policies add. */
const maxAnnotations = 256;
const maxAnnotationLength = 10 << 10;

/** Larger bodies are omitted and marked as truncated. */
const maxObjectBytes = 100 << 10;

/** Health checks and metrics requests arrive every few seconds and are not logged. */
const unloggedPaths = /^\/(?:healthz|livez|readyz|metrics)(?:\/|$)/;

/** A request in progress. */
export interface AuditedRequest {
  /** The request; reading its body also records it. */
  readonly request: ApiRequest;
  /** Logs the response; for a watch, its start. */
  responded(response: {
    readonly id: string;
    readonly reply: Reply | UpgradeReply;
    readonly impersonated: User | undefined;
  }): void;
  /** Logs the end of a watch. */
  ended(): void;
}

/** Writes audit events. */
export class Auditor {
  readonly #log: AuditLog;
  readonly #level: AuditLevel;
  readonly #clock: () => number;

  constructor(log: AuditLog, level: AuditLevel, clock: () => number) {
    this.#log = log;
    this.#level = level;
    this.#clock = clock;
  }

  /** Starts the audit of a request; undefined if it is not logged. */
  start(request: ApiRequest, info: RequestInfo): AuditedRequest | undefined {
    if (!info.isResource && unloggedPaths.test(info.path)) return undefined;
    const received = this.#clock();
    let body: Buffer | undefined;
    const annotations = new Map<string, string>();
    const annotate = (key: string, value: string): void => {
      if (annotations.size < maxAnnotations) annotations.set(key, value.slice(0, maxAnnotationLength));
    };
    const keepsBody = this.#level === 'Request' && info.isResource && !isSensitive(info);
    const write = (part: Pick<Audited, 'id' | 'stage' | 'impersonated' | 'reply'>): void => {
      const object = body === undefined ? undefined : objectOf(body);
      const { id, stage, impersonated, reply } = part;
      const [level, now] = [this.#level, this.#clock()];
      this.#log.write(
        auditLine({ id, stage, impersonated, reply, request, info, level, object, annotations, received, now }),
      );
    };
    let response: Pick<Audited, 'id' | 'impersonated' | 'reply'> | undefined;
    return {
      request: {
        ...request,
        annotate,
        ...(keepsBody ? { body: async (limit) => (body = await request.body(limit)) } : {}),
      },
      responded(given) {
        response = given;
        write({
          ...given,
          stage: 'stream' in given.reply || 'upgrade' in given.reply ? 'ResponseStarted' : 'ResponseComplete',
        });
      },
      ended() {
        if (response !== undefined) write({ ...response, stage: 'ResponseComplete' });
      },
    };
  }
}

/** The JSON body on one line; other encodings are omitted. */
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
