import { Agent, request as httpsRequest } from 'node:https';

/** A request, sent without checks. */
export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: string | Buffer;
  /** Default: JSON. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The outcome of a request. */
export interface Outcome {
  /** 0: the connection ended without a response. */
  readonly status: number;
  /** The size of the sent body. */
  readonly bytes: number;
  readonly text: string;
}

/** Plain data, so that it can be passed to a thread. */
export interface ServerTarget {
  readonly url: string;
  readonly ca?: string;
  readonly insecure: boolean;
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** The connections of one user to a server. */
export class HostileServer implements Disposable {
  readonly target: ServerTarget;
  readonly #agent: Agent;

  constructor(target: ServerTarget) {
    this.target = target;
    const { ca, cert, key, insecure } = target;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 64, ca, cert, key, rejectUnauthorized: !insecure });
  }

  /** Never rejects: a server that hangs up is an outcome too. */
  send({ method, path, body, type, headers = {} }: HostileRequest, signal?: AbortSignal): Promise<Outcome> {
    const bytes = body === undefined ? 0 : Buffer.byteLength(body);
    const { token } = this.target;
    return new Promise((resolve) => {
      const failed = (error: Error): void => resolve({ status: 0, bytes, text: error.message });
      const sent = httpsRequest(
        new URL(path, this.target.url),
        {
          method,
          agent: this.#agent,
          ...(signal === undefined ? {} : { signal }),
          headers: {
            'content-type': type ?? 'application/json',
            'content-length': bytes,
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...headers,
          },
        },
        (answer) => {
          const chunks: Buffer[] = [];
          let kept = 0;
          answer.on('data', (chunk: Buffer) => {
            if (kept < maxKept) chunks.push(chunk);
            kept += chunk.length;
          });
          answer.on('error', failed);
          answer.on('end', () =>
            resolve({ status: answer.statusCode ?? 0, bytes, text: Buffer.concat(chunks).toString() }),
          );
        },
      );
      sent.on('error', failed);
      sent.end(body);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/** Bytes of a response that are kept; the rest is read and dropped. */
const maxKept = 16 << 20;
