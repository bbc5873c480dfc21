import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { KeyPair } from '../../server/pki/issue.ts';

/** A connection to one API server, as the admin. */
export interface ApiConnection extends Disposable {
  /** Sends a request and reads the JSON answer, whatever its status. */
  send(method: 'GET' | 'PATCH', path: string, body?: ApiBody): Promise<ApiAnswer>;
}

export interface ApiBody {
  readonly type: string;
  readonly text: string;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

const timeoutMs = 30_000;

/** Connects to the API server at `url`, trusting `ca`. */
export function connectApi(url: string, ca: string, admin: KeyPair): ApiConnection {
  const agent = new Agent({ keepAlive: true, ca, ...admin });
  return {
    send: (method, path, body) =>
      new Promise((resolve, reject) => {
        const outgoing = request(new URL(path, url), {
          method,
          agent,
          headers: { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': body.type }) },
          signal: AbortSignal.timeout(timeoutMs),
        });
        outgoing.on('error', reject);
        outgoing.on('response', (incoming) => {
          text(incoming).then(
            (content) => resolve({ status: incoming.statusCode ?? 0, body: parsed(content) }),
            reject,
          );
        });
        outgoing.end(body?.text);
      }),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

/** An answer that is not JSON, such as a plain 404, is kept as text. */
function parsed(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return content;
  }
}
