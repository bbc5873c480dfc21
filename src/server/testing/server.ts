// An API server in this process for tests, without a listener, over a memory store or any other.

import { pino } from 'pino';

import type { GateName } from '../../api/gates.ts';
import { gatesWith } from '../../api/gates.ts';
import { configMapKind } from '../../api/kinds/core/configmap/kind.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { openMemoryStore } from '../../store/memory/memory.ts';
import type { Store } from '../../store/store.ts';
import { readImpersonation } from '../access/identity/impersonation.ts';
import type { User } from '../../api/user.ts';
import type { ApiRequest, BodyReply, Reply, Sink } from '../reply.ts';
import type { AdmissionPlugins } from '../admission/plugins.ts';
import type { CacheTuning } from '../cache/watch-cache.ts';
import type { AuditOptions } from '../audit/options.ts';
import type { Encryption } from '../encryption/encryption.ts';
import type { LimitOptions } from '../limits/options.ts';
import type { ServerContext } from '../context.ts';
import { openApi } from '../server.ts';
import { until } from './until.ts';

export interface TestOptions {
  readonly gates?: Partial<Record<GateName, boolean>>;
  /** Default: a new memory store. A given store is not closed with the server. */
  readonly store?: Store;
  readonly serviceCidrs?: readonly string[];
  readonly nodePorts?: { readonly from: number; readonly to: number };
  readonly loopbackEndpoints?: readonly string[];
  readonly admissionPlugins?: AdmissionPlugins;
  readonly otherAllocatedCidrs?: readonly string[];
  readonly cache?: CacheTuning;
  readonly limits?: Partial<LimitOptions>;
  readonly audit?: AuditOptions;
  readonly encryption?: Encryption;
}

/** A reply with its body. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly text: string;
  /** The body as JSON, untyped. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads any shape
  readonly body: any;
  readonly warnings: readonly string[];
}

export interface Ask {
  readonly body?: unknown;
  readonly type?: string;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An open watch. */
export interface TestWatch {
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads any shape
  readonly events: readonly { readonly type: string; readonly object: any }[];
  readonly ended: boolean;
  /** Resolves when `count` events have arrived; rejects after ten seconds. */
  take(count: number): Promise<TestWatch['events']>;
  close(): void;
}

/** A user; all but `system:anonymous` are authenticated. */
export interface TestUser {
  readonly name: string;
  readonly groups?: readonly string[];
}

/** A client of the server. */
export interface TestClient {
  ask(method: string, url: string, ask?: Ask): Promise<Answer>;
  watch(url: string, accept?: string): Promise<TestWatch>;
}

/** A server, and a client of it as an administrator. */
export interface TestServer extends TestClient, AsyncDisposable {
  readonly context: ServerContext;
  /** Handles a request like one of the listener. */
  handle(request: ApiRequest): Promise<Reply>;
  /** A client as another user. */
  as(user: TestUser): TestClient;
}

/** Starts a server and waits until its namespaces are complete. */
export async function testServer(options: TestOptions = {}): Promise<TestServer> {
  const store = options.store ?? openMemoryStore();
  const api = await openApi({
    name: 'test',
    version: '0.0.0',
    store,
    listen: { host: '127.0.0.1', port: 0 },
    tls: { cert: '', key: '', ca: 'CA' },
    gates: gatesWith(options.gates),
    serviceCidrs: options.serviceCidrs ?? ['10.0.0.0/24'],
    nodePorts: options.nodePorts ?? { from: 30000, to: 32767 },
    loopbackEndpoints: options.loopbackEndpoints ?? [],
    tokens: [],
    log: pino({ level: 'silent' }),
    ...(options.admissionPlugins === undefined ? {} : { admissionPlugins: options.admissionPlugins }),
    ...(options.otherAllocatedCidrs === undefined ? {} : { otherAllocatedCidrs: options.otherAllocatedCidrs }),
    ...(options.cache === undefined ? {} : { cache: options.cache }),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.audit === undefined ? {} : { audit: options.audit }),
    encryption: options.encryption,
  });
  await api.start({ host: '127.0.0.1', port: 6443 });
  await until('namespaces are complete', () => areComplete(api.context));
  const handle = (request: ApiRequest): Promise<Reply> => api.handler.handle(request);
  const client = (user: User): TestClient => ({
    ask: async (method, url, ask = {}) => answerOf(await handle({ ...requestOf(method, url, ask), user })),
    watch: async (url, accept) =>
      watchOf(await handle({ ...requestOf('GET', url, accept === undefined ? {} : { accept }), user })),
  });
  return {
    context: api.context,
    handle,
    ...client(administrator),
    as: ({ name, groups = [] }) => client({ name, uid: '', groups: [...groups, authenticatedGroup(name)] }),
    async [Symbol.asyncDispose]() {
      await api.drain();
      await api.close();
      if (options.store === undefined) await store.close();
    },
  };
}

/** Whether every live namespace has its default objects, after which only tests write. */
function areComplete({ watchCache }: ServerContext): boolean {
  const [namespaces, maps] = [watchCache.of(namespaceKind), watchCache.of(configMapKind)];
  return namespaces
    .range(namespaces.prefix)
    .filter(({ object }) => object.metadata.deletionTimestamp === undefined)
    .every(({ object }) => maps.get(maps.key(object.metadata.name ?? '', 'kube-root-ca.crt')) !== undefined);
}

const administrator: User = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };

const authenticatedGroup = (name: string): string =>
  name === 'system:anonymous' ? 'system:unauthenticated' : 'system:authenticated';

function requestOf(method: string, url: string, { body, type, accept, headers = {} }: Ask): Omit<ApiRequest, 'user'> {
  const all: Record<string, string | undefined> = { 'content-type': type, accept, ...headers };
  const bytes =
    body === undefined
      ? Buffer.alloc(0)
      : Buffer.isBuffer(body) || typeof body === 'string'
        ? Buffer.from(body)
        : Buffer.from(JSON.stringify(body));
  return {
    method,
    url,
    header: (name) => all[name],
    body: async (limit) => {
      if (bytes.length > limit) throw (await import('../reply.ts')).tooLarge(limit);
      return bytes;
    },
    impersonation: readImpersonation(Object.entries(headers).flat()),
  };
}

function answerOf(reply: Reply): Answer {
  if ('stream' in reply) throw new Error('a stream was not expected; use watch()');
  const text = textOf(reply);
  reply.release?.();
  const warnings = [reply.headers['Warning'] ?? []].flat();
  return { status: reply.status, headers: reply.headers, text, body: parsed(text), warnings };
}

const textOf = ({ body }: BodyReply): string =>
  typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : [...body].join('');

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // plain text
  }
}

function watchOf(reply: Reply): TestWatch {
  if (!('stream' in reply)) throw new Error(`a stream was expected, not ${reply.status}: ${textOf(reply)}`);
  const events: TestWatch['events'][number][] = [];
  const closers: (() => void)[] = [];
  let ended = false;
  let rest = '';
  const sink: Sink = {
    write(chunk) {
      rest += chunk.toString();
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) events.push(JSON.parse(line) as TestWatch['events'][number]);
      return true;
    },
    onDrain: () => undefined,
    onClose: (listener) => void closers.push(listener),
    end() {
      ended = true;
    },
    abort() {
      ended = true;
    },
  };
  reply.stream(sink);
  return {
    events,
    get ended() {
      return ended;
    },
    async take(count) {
      const deadline = Date.now() + 10_000;
      while (events.length < count) {
        if (Date.now() > deadline) throw new Error(`only ${events.length} of ${count}: ${JSON.stringify(events)}`);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      return events;
    },
    close: () => closers.forEach((close) => close()),
  };
}
