import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

import type { Gates } from '../api/gates.ts';
import { gateNames, gateSpecs } from '../api/gates.ts';
import { collectedGauge } from '../metrics/collected.ts';
import type { AuditLog } from './audit/log.ts';
import { auditMetrics } from './audit/metrics.ts';
import type { ServerContext } from './context.ts';
import type { Encryption } from './encryption/encryption.ts';
import { encryptionMetrics } from './encryption/metrics.ts';
import type { FlowControl } from './limits/flow-control.ts';
import { flowControlMetrics } from './limits/metrics.ts';
import type { RequestInfo, ResourceRequest } from './request.ts';

const labels = ['verb', 'dry_run', 'group', 'version', 'resource', 'subresource', 'scope', 'component'] as const;
const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

/** The labels of a request, as in kube-apiserver. */
export type RequestLabels = Record<(typeof labels)[number], string>;

/** Records the metrics of one request. */
export interface RequestMetrics {
  /** Called once, when the reply starts. */
  replied(code: number): void;
  /** Called when a watch or another stream starts; the returned function records its end. */
  watchStarted(): () => void;
}

/** Other sources of metrics. */
interface MetricSources {
  readonly limits: FlowControl;
  readonly audit: AuditLog | undefined;
  readonly encryption: Encryption | undefined;
  /** Metrics of other parts in this process, in text format; their names must differ from the server's. */
  readonly additional?: (() => Promise<string>) | undefined;
}

/** The server's metrics, under the names of kube-apiserver. */
export class ServerMetrics {
  readonly #registry = new Registry();
  readonly #requests: Counter;
  readonly #durations: Histogram;
  readonly #watches: Gauge;
  readonly #more: () => Promise<string>;

  constructor(
    context: ServerContext,
    gates: Gates,
    { limits, audit, encryption, additional = async () => '' }: MetricSources,
  ) {
    this.#more = additional;
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    this.#requests = new Counter({
      name: 'apiserver_request_total',
      help: 'Requests by verb, resource and status code.',
      labelNames: [...labels, 'code'],
      registers,
    });
    this.#durations = new Histogram({
      name: 'apiserver_request_duration_seconds',
      help: 'Time from the request to the reply, without watches.',
      labelNames: labels,
      buckets: durationBuckets,
      registers,
    });
    this.#watches = new Gauge({
      name: 'apiserver_longrunning_requests',
      help: 'Open watches, and streams between clients and nodes (CONNECT).',
      labelNames: ['verb', 'resource'],
      registers,
    });
    collectedGauge(this.#registry, 'apiserver_storage_objects', 'Stored objects, by resource.', () =>
      Array.from(context.watchCache.caches, ({ kind, size }) => [
        { resource: kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}` },
        size,
      ]),
    );
    collectedGauge(this.#registry, 'kubernetes_feature_enabled', 'Feature gates: 1 is enabled.', () =>
      gateNames.map((name) => {
        const { stage } = gateSpecs[name];
        return [{ name, stage: stage === 'GA' ? '' : stage }, gates.enabled(name) ? 1 : 0];
      }),
    );
    storeMetrics(this.#registry, context);
    allocatorMetrics(this.#registry, context);
    flowControlMetrics(this.#registry, limits, context);
    auditMetrics(this.#registry, audit);
    encryptionMetrics(this.#registry, context.watchCache, encryption);
    for (const metric of context.policies.metrics.all) this.#registry.registerMetric(metric);
    for (const metric of context.mutatingPolicies.metrics.all) this.#registry.registerMetric(metric);
    for (const metric of context.webhooks.metrics.all) this.#registry.registerMetric(metric);
    for (const metric of context.conversions.metrics.all) this.#registry.registerMetric(metric);
  }

  /**
   * Starts to measure a request. Unknown resources are recorded without names, so that clients cannot create label
   * values.
   */
  begin(
    info: RequestInfo,
    { isServed, type = '' }: { readonly isServed: boolean; readonly type?: string | undefined },
  ): RequestMetrics {
    const started = performance.now();
    const described =
      info.isResource && isServed ? labelsOf(info, type) : { ...none, verb: verbs[info.verb] ?? 'OTHER' };
    return {
      replied: (code) => {
        this.#requests.inc({ ...described, code: String(code) });
        if (info.verb !== 'watch') this.#durations.observe(described, (performance.now() - started) / 1000);
      },
      watchStarted: () => {
        const watch = { verb: info.verb === 'watch' ? 'WATCH' : 'CONNECT', resource: described.resource };
        this.#watches.inc(watch);
        return () => this.#watches.dec(watch);
      },
    };
  }

  /** The text of `/metrics`, and its content type. */
  async text(): Promise<{ readonly body: string; readonly contentType: string }> {
    const [own, more] = await Promise.all([this.#registry.metrics(), this.#more()]);
    return { body: own + more, contentType: this.#registry.contentType };
  }
}

/** Metrics of the store, under etcd's names where it has them. */
function storeMetrics(registry: Registry, { store }: ServerContext): void {
  collectedGauge(
    registry,
    'etcd_mvcc_db_total_size_in_use_in_bytes',
    'Bytes of keys and values in the store, including history.',
    () => store.status().bytes,
  );
  collectedGauge(
    registry,
    'etcd_server_quota_backend_bytes',
    'The quota of the store in bytes.',
    () => store.status().quotaBytes,
  );
  collectedGauge(registry, 'fairlead_store_alarm', '1 while the alarm is raised.', () => {
    const { failure, quotaReached, damaged } = store.status();
    return [
      [{ alarm: 'NOSPACE' }, Number(quotaReached !== undefined)],
      [{ alarm: 'CORRUPT' }, Number(damaged.size > 0)],
      [{ alarm: 'UNWRITABLE' }, Number(failure !== undefined)],
    ];
  });
  collectedGauge(
    registry,
    'fairlead_store_damaged_records',
    'Records with a wrong checksum.',
    () => store.status().damaged.size,
  );
}

function allocatorMetrics(registry: Registry, { allocator }: ServerContext): void {
  const addresses = 'kube_apiserver_clusterip_allocator';
  collectedGauge(registry, `${addresses}_allocated_ips`, 'Cluster IPs in use.', () =>
    allocator.metrics().clusterIps.map(({ cidr, allocated }) => [{ cidr }, allocated]),
  );
  collectedGauge(registry, `${addresses}_available_ips`, 'Free cluster IPs.', () =>
    allocator.metrics().clusterIps.map(({ cidr, available }) => [{ cidr }, available]),
  );
  const ports = 'kube_apiserver_nodeport_allocator';
  collectedGauge(
    registry,
    `${ports}_allocated_ports`,
    'Node ports in use.',
    () => allocator.metrics().nodePorts.allocated,
  );
  collectedGauge(
    registry,
    `${ports}_available_ports`,
    'Free node ports.',
    () => allocator.metrics().nodePorts.available,
  );
}

const verbs: Readonly<Record<string, string>> = {
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETECOLLECTION',
  get: 'GET',
  list: 'LIST',
  watch: 'WATCH',
};

const subresources: readonly string[] = ['status', 'finalize'];

function labelsOf(info: ResourceRequest, type: string): RequestLabels {
  const { group, version, resource } = info;
  return {
    ...none,
    verb: info.verb === 'patch' && type.startsWith('application/apply-patch') ? 'APPLY' : (verbs[info.verb] ?? 'OTHER'),
    dry_run: info.query.has('dryRun') ? 'All' : '',
    group,
    version,
    resource,
    subresource: subresources.includes(info.subresource) ? info.subresource : '',
    scope: scopeOf(info),
  };
}

const none: RequestLabels = {
  verb: '',
  dry_run: '',
  group: '',
  version: '',
  resource: '',
  subresource: '',
  scope: '',
  component: 'apiserver',
};

function scopeOf(info: ResourceRequest): string {
  if (info.name !== '' || info.verb === 'create') return 'resource';
  return info.namespace === '' ? 'cluster' : 'namespace';
}
