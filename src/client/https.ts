import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { Deadline } from './deadline.ts';
import { LineCutter } from './lines.ts';
import type { ApiAnswer, ApiCall, Transport } from './transport.ts';
import { headersOf, refusal, urlOf } from './transport.ts';

/** What proves who we are: a token, or a certificate with its key, as PEM. */
export interface Credentials {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Where a server is, how it is known and who connects. */
export interface ServerAccess {
  /** Such as `https://192.0.2.1:6443`; a path is kept in front of every request. */
  readonly server: string;
  /** PEM of those who may sign the server's certificate; default: whom the system trusts. */
  readonly ca?: string;
  readonly insecureSkipTlsVerify?: boolean;
  /** The name to expect in the certificate; default: that of `server`. */
  readonly tlsServerName?: string;
  /** Asked before every request. `isRefused`: the last ones were answered with 401. */
  readonly credentials: (isRefused: boolean) => Promise<Credentials>;
}

export interface HttpsOptions {
  readonly userAgent?: string;
  /** How long an answer, or the beginning of a stream, may take; default 60 s. */
  readonly timeoutMs?: number;
}

/** A transport over TLS with connections that are kept. Every stream has a connection of its own. */
export function overHttps(access: ServerAccess, options: HttpsOptions = {}): Transport {
  const connections = new Connections(access, options);
  return {
    async request(call) {
      const deadline = new Deadline(call, options.timeoutMs ?? defaultTimeoutMs);
      try {
        const outgoing = await connections.send(call, deadline);
        return { status: outgoing.statusCode ?? 0, headers: outgoing.headers, body: await deadline.text(outgoing) };
      } finally {
        deadline.clear();
      }
    },
    async *stream(call) {
      const incoming = await begin(connections, call, options.timeoutMs ?? defaultTimeoutMs);
      if (incoming.statusCode !== 200) throw refusal(await answerOf(incoming));
      // A machine that vanished says nothing: the kernel asks after it.
      incoming.socket.setKeepAlive(true, 30_000);
      const cutter = new LineCutter();
      incoming.setEncoding('utf8');
      for await (const chunk of incoming) yield* cutter.push(String(chunk));
    },
    [Symbol.dispose]: () => connections.close(),
  };
}

const defaultTimeoutMs = 60_000;

/** A stream may last for ever, but not take for ever to begin. */
async function begin(connections: Connections, call: ApiCall, timeoutMs: number): Promise<IncomingMessage> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(`${call.path} did not answer in ${timeoutMs} ms`)), timeoutMs);
  const signal = call.signal === undefined ? late.signal : AbortSignal.any([call.signal, late.signal]);
  try {
    return await connections.send(call, signal);
  } finally {
    clearTimeout(timer);
  }
}

const answerOf = async (incoming: IncomingMessage): Promise<ApiAnswer> => ({
  status: incoming.statusCode ?? 0,
  headers: incoming.headers,
  body: await text(incoming),
});

/** The connections of one transport; they are made anew when the client certificate changes. */
class Connections {
  readonly #access: ServerAccess;
  readonly #url: URL;
  /** In front of every path. */
  readonly #prefix: string;
  readonly #base: RequestOptions;
  readonly #userAgent: string;
  #agent: HttpAgent | HttpsAgent | undefined;
  #retired: HttpAgent | HttpsAgent | undefined;
  #certificate: string | undefined;

  constructor(access: ServerAccess, { userAgent = 'fairlead' }: HttpsOptions) {
    this.#access = access;
    this.#url = new URL(access.server);
    const { protocol, hostname, port, pathname } = this.#url;
    this.#prefix = pathname.replace(/\/$/, '');
    // Brackets around an IPv6 address belong to the URL, not to the address.
    this.#base = { protocol, hostname: hostname.replace(/^\[|\]$/g, ''), ...(port === '' ? {} : { port }) };
    this.#userAgent = userAgent;
  }

  /** Sends a call; one that is answered with 401 is sent once more, with credentials that are read anew. */
  async send(call: ApiCall, end: AbortSignal | Deadline): Promise<IncomingMessage> {
    const answer = await this.#sendAs(call, end, await this.#access.credentials(false));
    if (answer.statusCode !== 401) return answer;
    answer.resume(); // the connection is free only when the body was read
    return this.#sendAs(call, end, await this.#access.credentials(true));
  }

  close(): void {
    this.#agent?.destroy();
    this.#retired?.destroy();
  }

  #sendAs(call: ApiCall, end: AbortSignal | Deadline, credentials: Credentials): Promise<IncomingMessage> {
    const { token } = credentials;
    const headers = {
      ...headersOf(call),
      'user-agent': this.#userAgent,
      ...(call.body === undefined ? {} : { 'content-length': Buffer.byteLength(call.body) }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const path = this.#prefix + urlOf(call);
    const options = { ...this.#base, path, method: call.method, agent: this.#agentFor(credentials), headers };
    return new Promise((resolve, reject) => {
      const outgoing = this.#open(options, end);
      // An abort is reported as what it was aborted for.
      outgoing.on('error', (error) => reject(end.aborted ? end.reason : error));
      outgoing.on('response', resolve);
      outgoing.end(call.body);
    });
  }

  #open(options: RequestOptions, end: AbortSignal | Deadline): ClientRequest {
    const send = this.#url.protocol === 'http:' ? httpRequest : httpsRequest;
    if (end instanceof AbortSignal) return send({ ...options, signal: end });
    const outgoing = send(options);
    end.guard(outgoing);
    return outgoing;
  }

  #agentFor({ cert, key }: Credentials): HttpAgent | HttpsAgent {
    if (this.#agent !== undefined && this.#certificate === cert) return this.#agent;
    const { ca, insecureSkipTlsVerify = false, tlsServerName } = this.#access;
    // What is under way with the last certificate may finish; what is older yet is cut.
    this.#retired?.destroy();
    this.#retired = this.#agent;
    this.#certificate = cert;
    this.#agent =
      this.#url.protocol === 'http:'
        ? new HttpAgent({ keepAlive: true })
        : new HttpsAgent({
            keepAlive: true,
            rejectUnauthorized: !insecureSkipTlsVerify,
            ...(ca === undefined ? {} : { ca }),
            ...(cert === undefined ? {} : { cert }),
            ...(key === undefined ? {} : { key }),
            ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
          });
    return this.#agent;
  }
}
