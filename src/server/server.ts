import { randomUUID } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';

import { fileErrorOf } from '../api/error-message.ts';
import { canonicalAddress, joinHostPort, parseCidr, printAddress } from '../api/addresses.ts';
import type { Gates } from '../api/gates.ts';
import { kinds } from '../api/kinds/registry.ts';
import { QuotaExceededError } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import { createIdentity, defaultIssuer } from './access/identity/authenticator.ts';
import { openKeyDirectory } from './access/identity/key-directory.ts';
import type { StaticToken } from './access/identity/static-tokens.ts';
import { openSharedKeys } from './access/identity/shared-keys.ts';
import type { TokenKeys } from './access/identity/token-keys.ts';
import { memoryTokenKeys } from './access/identity/token-keys.ts';
import { Aggregation } from './aggregation/aggregation.ts';
import type { FrontProxy } from './aggregation/backend.ts';
import { Authorizer } from './access/authorize.ts';
import { ensureDefaultRoles } from './access/rbac/defaults/reconcile.ts';
import type { AdmissionPlugins } from './admission/plugins.ts';
import { defaultPlugins } from './admission/plugins.ts';
import { MutatingPolicies } from './admission/policies/mutating.ts';
import { Policies } from './admission/policies/policies.ts';
import { Webhooks } from './admission/webhooks/webhooks.ts';
import { repairClaims, repairDamagedClaims } from './allocate/repair-claims.ts';
import { ServiceAllocator } from './allocate/service-allocator.ts';
import { Auditor } from './audit/auditor.ts';
import { AuditLog } from './audit/log.ts';
import type { AuditOptions } from './audit/options.ts';
import { bootstrap, requireServiceRange } from './bootstrap/bootstrap.ts';
import { LiveServers } from './bootstrap/live-servers.ts';
import type { BootstrapOptions } from './bootstrap/objects.ts';
import { Flusher } from './cache/flusher.ts';
import type { CacheTuning } from './cache/watch-cache.ts';
import { WatchCache } from './cache/watch-cache.ts';
import type { ServerContext } from './context.ts';
import { Conversions } from './conversion/conversions.ts';
import { Handler } from './handler.ts';
import type { HealthCheck } from './nonresource/health.ts';
import { customKindsOf, definitionsIn } from './custom/definitions.ts';
import { EncryptedStore } from './encryption/encrypted-store.ts';
import type { Encryption } from './encryption/encryption.ts';
import { unreadableMessage } from './encryption/encryption.ts';
import type { Incoming } from './http/write.ts';
import { listen } from './http/listener.ts';
import { ActiveFlows } from './limits/active-flows.ts';
import { FlowControl } from './limits/flow-control.ts';
import type { ConnectionLimits } from './http/connections.ts';
import type { LimitOptions } from './limits/options.ts';
import { defaultLimits } from './limits/options.ts';
import { TimeSlicer } from './limits/time-slicer.ts';
import { UnsentBytes } from './limits/unsent-bytes.ts';
import { WatchLimits } from './limits/watch-limits.ts';
import type { Loops } from './lifecycle/loops.ts';
import { startLoops } from './lifecycle/loops.ts';
import { ServerMetrics } from './metrics.ts';
import type { ClientPair, NodeClientOptions } from './nodes/node-client.ts';
import { NodeClient } from './nodes/node-client.ts';
import { OpenStreams } from './nodes/open-streams.ts';
import { NodeUsage } from './usage/node-usage.ts';
import { Quotas } from './quota/quotas.ts';
import type { ApiRequest, Reply } from './reply.ts';
import type { CustomKinds } from './served-resources.ts';
import { ServedResources } from './served-resources.ts';
import { BodyDecoder } from './verbs/body-decoder.ts';

export interface ServerOptions {
  /** The name of the cluster, for logs. */
  readonly name: string;
  /** Time-slices expensive requests. Servers that share an event loop share it; default: a new one. */
  readonly timeSlicer?: TimeSlicer;
  /** The version of this program, for `/version`. */
  readonly version: string;
  /** Owned by the caller: close it after the server. */
  readonly store: Store;
  readonly listen: { readonly host: string; readonly port: number };
  /** The IP address that clients connect to; default: the listen address. */
  readonly advertise?: string | undefined;
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string };
  readonly gates: Gates;
  /** One CIDR, or two of different families. */
  readonly serviceCidrs: readonly string[];
  /** Address ranges of other allocators: no Service may use their addresses as external IPs. */
  readonly otherAllocatedCidrs?: readonly string[];
  /** Default: `defaultPlugins`. */
  readonly admissionPlugins?: AdmissionPlugins;
  readonly nodePorts: { readonly from: number; readonly to: number };
  readonly loopbackEndpoints: readonly string[];
  readonly tokens: readonly StaticToken[];
  /** How service account tokens are signed. Without a directory the keys exist only in memory. */
  readonly accountTokens?: { readonly keyDirectory?: string; readonly issuer?: string };
  /** Whether the server fills new namespaces and empties terminating ones; default: true. */
  readonly managesNamespaces?: boolean;
  readonly log: Logger;
  /** Settings of the watch cache. */
  readonly cache?: CacheTuning;
  /** Limits for clients; default: `defaultLimits`. */
  readonly limits?: Partial<LimitOptions>;
  /** Where to write the audit log; default: no audit log. */
  readonly audit?: AuditOptions | undefined;
  /** Which resources are encrypted in the store; default: none. */
  readonly encryption?: Encryption | undefined;
  /** How this server connects to the servers of nodes, for logs, commands and forwarded ports. */
  readonly nodeClient?: NodeClientOptions | undefined;
  /** How this server proves to aggregated API servers that it passes requests on; default: it has no certificate for them. */
  readonly frontProxy?: FrontProxy | undefined;
  /** Returns metrics of other parts in this process, which `/metrics` includes. */
  readonly additionalMetrics?: () => Promise<string>;
}

/** A running API server. */
export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** Handles a request from this process, without a connection. */
  handle(request: ApiRequest): Promise<Reply>;
  /** Replaces the certificates and the trusted authorities; open connections continue. */
  renew(
    tls: ServerOptions['tls'],
    clients?: { readonly nodeClient?: ClientPair; readonly frontProxy?: FrontProxy },
  ): void;
  /** Rejects new requests, waits for running ones, and ends all watches. */
  close(): Promise<void>;
}

/** The API without a listener. */
export interface Api {
  readonly handler: Handler;
  readonly context: ServerContext;
  /** Creates the bootstrap objects and starts the control loops. */
  start(address: { readonly host: string; readonly port: number }): Promise<void>;
  /** Publishes the authorities that sign API servers in every namespace. */
  trust(ca: string): void;
  /** Uses another certificate at aggregated API servers, and publishes its authority. */
  useFrontProxy(frontProxy: FrontProxy): void;
  /** Reports not ready and ends all watches, so that clients connect to another server. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the API over a store. */
export async function openApi(options: ServerOptions): Promise<Api> {
  const state: { started: boolean; closing: boolean; lost: Error | undefined } = {
    started: false,
    closing: false,
    lost: undefined,
  };
  const auditLog = await openAuditLog(options);
  const context = await openContext(options, (error) => (state.lost = error)).catch(async (error: unknown) => {
    await auditLog?.[Symbol.asyncDispose]();
    throw error;
  });
  const documents = {
    get kinds() {
      return context.aggregation.documents.ownKinds(context.resources.kinds);
    },
    remote: context.aggregation.documents,
    address: '',
    version: options.version,
  };
  const checks: readonly HealthCheck[] = [
    { name: 'ping', readyOnly: false, problem: () => undefined },
    { name: 'log', readyOnly: false, problem: () => undefined },
    { name: 'etcd', readyOnly: false, problem: () => state.lost?.message ?? fatalProblem(options.store) },
    { name: 'etcd-readiness', readyOnly: true, problem: () => options.store.status().failure?.message },
    { name: 'storage-integrity', readyOnly: true, problem: () => damageProblem(options.store) },
    { name: 'storage-quota', readyOnly: true, isInformational: true, problem: () => quotaProblem(options.store) },
    { name: 'informer-sync', readyOnly: true, problem: () => (state.started ? undefined : 'starting') },
    ...postStartHooks.map((name) => ({
      name: `poststarthook/${name}`,
      readyOnly: false,
      problem: () => (state.started ? undefined : 'not finished'),
    })),
    { name: 'autoregister-completion', readyOnly: false, problem: () => (state.started ? undefined : 'not finished') },
    { name: 'encryption-at-rest', readyOnly: true, problem: () => unreadableMessage(context.watchCache) },
    { name: 'shutdown', readyOnly: true, problem: () => (state.closing ? 'shutting down' : undefined) },
  ];
  const limits = new FlowControl({ ...defaultLimits, ...options.limits }, context.activeFlows);
  const audit = auditLog && new Auditor(auditLog, options.audit?.level ?? 'Metadata', context.clock);
  const metrics = new ServerMetrics(context, options.gates, {
    limits,
    audit: auditLog,
    encryption: options.encryption,
    additional: options.additionalMetrics,
  });
  const { name: cluster, store: rawStore } = options;
  const handler = new Handler({ context, cluster, rawStore, documents, metrics, checks, limits, audit });
  let loops: Loops | undefined;
  /** Removes this server from the endpoints of `kubernetes`. */
  let leave = (): Promise<void> => Promise.resolve();
  const unreadable = unreadableMessage(context.watchCache);
  if (unreadable !== undefined) options.log.error(unreadable);
  const unsubscribe = options.encryption?.onChange(() => {
    context.watchCache
      .reload()
      .catch((error: unknown) => options.log.error({ err: error }, 'reloading objects after a change of keys failed'));
  });
  return {
    handler,
    context,
    async start({ host, port }) {
      const address = { host: options.advertise ?? host, port };
      documents.address = `${address.host}:${address.port}`;
      const initial = bootstrapOptions(options.serviceCidrs, address);
      await (context.store.isAdopted ? repairClaims(context) : repairDamagedClaims(context));
      // The server must start, so that objects can be deleted.
      const tolerate = (error: unknown): void => {
        if (!(error instanceof QuotaExceededError) && options.store.status().damaged.size === 0) throw error;
        context.log.error({ err: error }, 'bootstrap objects are incomplete: the store is full or damaged');
      };
      const servers = new LiveServers(context.store, initial);
      const others = await servers.others();
      requireServiceRange(context, options.serviceCidrs, context.store.isAdopted || others.length > 0);
      const restore = async (): Promise<void> => bootstrap(context, { ...initial, servers: await servers.announce() });
      await restore().catch(tolerate);
      await ensureDefaultRoles(context).catch(tolerate);
      loops = await startLoops(context, {
        ca: options.tls.ca,
        restore,
        managesNamespaces: options.managesNamespaces,
      });
      leave = async () => {
        const left = await servers.withdraw();
        if (context.store.isShared && left.length > 0) await bootstrap(context, { ...initial, servers: left });
      };
      state.started = true;
    },
    trust(ca) {
      loops?.publishCa(ca);
    },
    useFrontProxy(frontProxy) {
      context.aggregation.renew(frontProxy);
      loops?.publishFrontProxyCa(frontProxy.ca);
    },
    async drain() {
      state.closing = true;
      await loops?.[Symbol.asyncDispose]();
      await leave().catch((error: unknown) =>
        options.log.warn({ err: error }, 'this server stays in the endpoints of `kubernetes` until its lease expires'),
      );
      context.streams.endAll();
      context.aggregation.streams.endAll();
      for (const { watchers } of context.watchCache.caches) for (const watcher of watchers) watcher.end?.();
    },
    async close() {
      unsubscribe?.();
      limits[Symbol.dispose]();
      context.webhooks[Symbol.dispose]();
      context.conversions[Symbol.dispose]();
      context.aggregation[Symbol.dispose]();
      context.nodes[Symbol.dispose]();
      await auditLog?.[Symbol.asyncDispose]();
      await context.quotas[Symbol.asyncDispose]();
      context.identity.accountTokens.keys[Symbol.dispose]();
      context.watchCache.close();
      await context.bodies[Symbol.asyncDispose]();
      await context.allocator.close();
    },
  };
}

/** The post-start hooks of kube-apiserver whose work this server does before it is started. */
const postStartHooks: readonly string[] = [
  'generic-apiserver-start-informers',
  'priority-and-fairness-filter',
  'start-system-namespaces-controller',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'bootstrap-controller',
  'start-kubernetes-service-cidr-controller',
  'start-apiserver-admission-initializer',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-cluster-authentication-info-controller',
  'storage-readiness',
  'start-kube-aggregator-informers',
  'apiservice-registration-controller',
  'apiservice-status-local-available-controller',
  'apiservice-status-remote-available-controller',
  'apiservice-openapi-controller',
  'kube-apiserver-autoregistration',
];

function fatalProblem(store: Store): string | undefined {
  const { failure } = store.status();
  return failure?.isFatal === true ? failure.message : undefined;
}

function damageProblem(store: Store): string | undefined {
  const { size } = store.status().damaged;
  return size === 0 ? undefined : `${size} damaged records`;
}

const quotaProblem = (store: Store): string | undefined =>
  store.status().quotaReached === undefined ? undefined : 'the quota is reached';

/** Starts an API server over a store; resolves when it is ready. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const api = await openApi(options);
  const { authenticator, certificates } = api.context.identity;
  const { host } = options.listen;
  const listener = await listen({
    ...options.listen,
    tls: options.tls,
    connections: connectionLimits({ ...defaultLimits, ...options.limits }),
    identify: (request) =>
      authenticator.identify({
        socket: socketOf(request),
        authorization: request.headers.authorization,
        protocols: request.headers['sec-websocket-protocol'],
      }),
    handle: (request) => api.handler.handleConnection(request),
    unauthorized: (request) => api.handler.unauthorized(request),
    onUnexpectedError: (error) => options.log.error({ err: error }, 'bug: request dropped'),
  }).catch(async (error: unknown) => {
    await api.close();
    throw error;
  });
  const close = async (): Promise<void> => {
    await api.drain();
    await listener.close();
    await api.close();
  };
  await api.start({ host, port: listener.port }).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    url: `https://${joinHostPort(host, listener.port)}`,
    port: listener.port,
    handle: (request) => api.handler.handle(request),
    renew(tls, { nodeClient, frontProxy } = {}) {
      if (nodeClient !== undefined) api.context.nodes.renew(nodeClient);
      if (frontProxy !== undefined) api.useFrontProxy(frontProxy);
      certificates.trust(tls.ca);
      listener.renew(tls);
      api.trust(tls.ca);
    },
    close,
  };
}

async function openAuditLog({ audit, log }: ServerOptions): Promise<AuditLog | undefined> {
  if (audit === undefined) return undefined;
  const onError = (error: unknown): void =>
    log.error({ err: error, path: audit.path }, 'the audit log cannot be written: requests are not logged');
  return AuditLog.open({ ...audit, clock: () => Date.now(), onError }).catch((error: unknown) => {
    const why = fileErrorOf(error);
    // A new error, since callers interpret its code as that of a port.
    throw new Error(`the audit log ${audit.path} cannot be written: ${why}`);
  });
}

async function openContext(options: ServerOptions, onLost: (error: Error) => void): Promise<ServerContext> {
  const { encryption, gates, loopbackEndpoints, log } = options;
  const encrypted = encryption && new EncryptedStore(options.store, encryption);
  const store = encrypted ?? options.store;
  const clock = (): number => Date.now();
  const random = (): number => Math.random();
  const { keyDirectory, issuer = defaultIssuer } = options.accountTokens ?? {};
  const custom = new Map<string, CustomKinds>();
  const [watchCache, allocator, keys] = await Promise.all([
    WatchCache.open({
      ...options.cache,
      store,
      kinds,
      customKinds(loaded) {
        for (const crd of definitionsIn(loaded)) {
          const found = customKindsOf(crd, kinds);
          if (found !== undefined) custom.set(crd.metadata.name ?? '', found);
        }
        return [...custom.values()].flatMap(({ all }) => all);
      },
      clock,
      onLost(error) {
        log.error({ err: error }, 'watch of the store ended: reads are stale and writes fail; restart the server');
        onLost(error);
      },
    }),
    ServiceAllocator.open({ store, serviceCidrs: options.serviceCidrs, nodePorts: options.nodePorts, random }),
    keyDirectory === undefined ? memoryTokenKeys(clock) : openTokenKeys(keyDirectory, { store, clock, log }),
  ]);
  const { tls, tokens, admissionPlugins: plugins = defaultPlugins } = options;
  const activeFlows = new ActiveFlows();
  const enabledKinds = kinds.filter(({ gate }) => gate === undefined || gates.enabled(gate));
  const resources = new ServedResources(enabledKinds, watchCache);
  for (const [name, found] of custom) resources.set(name, found);
  const limits = { ...defaultLimits, ...options.limits };
  const unsent = new UnsentBytes(limits);
  const access = new Authorizer(watchCache);
  const conversions = new Conversions({ watchCache, log, uid: randomUUID });
  const nodes = new NodeClient(options.nodeClient);
  const aggregation = new Aggregation(watchCache, { limits, frontProxy: options.frontProxy });
  return {
    store,
    isStale: (entry) => encrypted?.isStale(entry) ?? false,
    watchCache,
    resources,
    allocator,
    access,
    identity: createIdentity({ ca: tls.ca, tokens, keys, issuer, watchCache, clock, uid: randomUUID }),
    plugins,
    quotas: new Quotas({ store, watchCache, log: log.child({ loop: 'quota' }), enforce: plugins.has('ResourceQuota') }),
    policies: new Policies({ watchCache, resources, access, conversions }),
    mutatingPolicies: new MutatingPolicies({
      watchCache,
      resources,
      access,
      conversions,
      isEnabled: gates.enabled('MutatingAdmissionPolicy') && plugins.has('MutatingAdmissionPolicy'),
    }),
    webhooks: new Webhooks({ watchCache, access, conversions, log, uid: randomUUID }),
    conversions,
    write: {
      gates,
      loopbackEndpoints,
      allocatedRanges: [...options.serviceCidrs, ...(options.otherAllocatedCidrs ?? [])],
    },
    activeFlows,
    flusher: new Flusher((flow) => activeFlows.hasOtherFlows(flow)),
    timeSlicer: options.timeSlicer ?? new TimeSlicer(),
    watches: new WatchLimits(limits, unsent),
    unsent,
    aggregation,
    nodes,
    usage: new NodeUsage(nodes),
    streams: new OpenStreams(limits),
    bodies: new BodyDecoder(),
    log,
    clock,
    uid: randomUUID,
    random,
  };
}

/** The keys of a directory; with a shared store also the public keys of the other servers. */
async function openTokenKeys(
  path: string,
  { store, clock, log }: Pick<ServerContext, 'store' | 'clock' | 'log'>,
): Promise<TokenKeys> {
  const warn = (keys: object, message: string): void => log.warn(keys, message);
  const own = await openKeyDirectory({ path, clock, warn });
  return store.isShared ? openSharedKeys({ own, path, store, clock, warn }) : own;
}

function bootstrapOptions(
  serviceCidrs: readonly string[],
  { host, port }: { readonly host: string; readonly port: number },
): BootstrapOptions {
  const primary = parseCidr(serviceCidrs[0] ?? '');
  if (primary === undefined) throw new Error(`bug: "${serviceCidrs[0] ?? ''}" is not a CIDR`);
  const address = host === '0.0.0.0' || host === 'localhost' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return {
    serviceCidrs,
    firstServiceIp: printAddress(primary.family, primary.network + 1n),
    address: canonicalAddress(address) ?? '127.0.0.1',
    port,
  };
}

/** The TLS socket under a request of either protocol. */
function socketOf(request: Incoming): TLSSocket | undefined {
  const socket = 'stream' in request ? request.stream.session?.socket : request.socket;
  // The listener serves TLS only; HTTP/2 wraps the socket in a proxy of the same shape.
  return socket as TLSSocket | undefined;
}

const connectionLimits = ({
  maxConnections: max,
  maxConnectionsPerAddress,
}: LimitOptions): Partial<ConnectionLimits> => ({
  max,
  maxPerAddress: Math.min(maxConnectionsPerAddress, Math.ceil(max / 2)),
});
