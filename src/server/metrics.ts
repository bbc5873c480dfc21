import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

import type { Gates } from '../api/gates.ts';
import { gateNames, gateSpecs } from '../api/gates.ts';
import type { ServerContext } from './context.ts';
import type { RequestInfo } from './request.ts';

const labels = ['verb', 'dry_run', 'group', 'version', 'resource', 'subresource', 'scope', 'component'] as const;
const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

/** What a request was, in the labels that dashboards for Kubernetes use. */
export type RequestLabels = Record<(typeof labels)[number], string>;

/** The server's metrics, under the names of kube-apiserver. */
export class ServerMetrics {
  readonly #registry = new Registry();
  readonly #requests: Counter;
  readonly #durations: Histogram;
  readonly #inFlight: Gauge;
  readonly #watches: Gauge;

  constructor(context: ServerContext, gates: Gates) {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    this.#requests = new Counter({
      name: 'apiserver_request_total',
      help: 'Requests, by what they asked for and how they were answered.',
      labelNames: [...labels, 'code'],
      registers,
    });
    this.#durations = new Histogram({
      name: 'apiserver_request_duration_seconds',
      help: 'Time from a request to its answer; watches are not counted.',
      labelNames: labels,
      buckets: durationBuckets,
      registers,
    });
    this.#inFlight = new Gauge({
      name: 'apiserver_current_inflight_requests',
      help: 'Requests that are being answered.',
      labelNames: ['request_kind'],
      registers,
    });
    for (const kind of ['mutating', 'readOnly']) this.#inFlight.set({ request_kind: kind }, 0);
    this.#watches = new Gauge({
      name: 'apiserver_longrunning_requests',
      help: 'Watches that are open.',
      labelNames: ['verb', 'resource'],
      registers,
    });
    gauge(registers, 'apiserver_storage_objects', 'Stored objects, by resource.', ['resource'], (set) => {
      for (const { kind, size } of context.hub.caches) {
        set({ resource: kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}` }, size);
      }
    });
    gauge(registers, 'kubernetes_feature_enabled', 'Feature gates: 1 is on.', ['name', 'stage'], (set) => {
      for (const name of gateNames) {
        const { stage } = gateSpecs[name];
        set({ name, stage: stage === 'GA' ? '' : stage }, gates.enabled(name) ? 1 : 0);
      }
    });
    allocatorMetrics(registers, context);
  }

  /** A request has come; the answer is to be told to what is returned. */
  begin(
    info: RequestInfo,
    now: () => number,
  ): (code: number, isWatch: boolean, onEnd?: (end: () => void) => void) => void {
    const started = now();
    const kind = { request_kind: isMutating(info) ? 'mutating' : 'readOnly' };
    this.#inFlight.inc(kind);
    return (code, isWatch, onEnd) => {
      this.#inFlight.dec(kind);
      const described = labelsOf(info);
      this.#requests.inc({ ...described, code: String(code) });
      if (!isWatch) this.#durations.observe(described, (now() - started) / 1000);
      if (isWatch && onEnd !== undefined) {
        const watch = { verb: 'WATCH', resource: described.resource };
        this.#watches.inc(watch);
        onEnd(() => this.#watches.dec(watch));
      }
    };
  }

  /** The text of `/metrics`, and its content type. */
  async text(): Promise<{ readonly body: string; readonly contentType: string }> {
    return { body: await this.#registry.metrics(), contentType: this.#registry.contentType };
  }
}

type Set = (values: Record<string, string>, value: number) => void;

function gauge(
  registers: Registry[],
  name: string,
  help: string,
  labelNames: string[],
  collect: (set: Set) => void,
): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers,
    collect() {
      this.reset();
      collect((values, value) => this.set(values, value));
    },
  });
}

function allocatorMetrics(registers: Registry[], { allocator }: ServerContext): void {
  const addresses = 'kube_apiserver_clusterip_allocator';
  gauge(registers, `${addresses}_allocated_ips`, 'Cluster IPs in use.', ['cidr'], (set) => {
    for (const { cidr, allocated } of allocator.metrics().clusterIps) set({ cidr }, allocated);
  });
  gauge(registers, `${addresses}_available_ips`, 'Cluster IPs that are free.', ['cidr'], (set) => {
    for (const { cidr, available } of allocator.metrics().clusterIps) set({ cidr }, available);
  });
  const ports = 'kube_apiserver_nodeport_allocator';
  gauge(registers, `${ports}_allocated_ports`, 'Node ports in use.', [], (set) =>
    set({}, allocator.metrics().nodePorts.allocated),
  );
  gauge(registers, `${ports}_available_ports`, 'Node ports that are free.', [], (set) =>
    set({}, allocator.metrics().nodePorts.available),
  );
}

const isMutating = (info: RequestInfo): boolean => info.isResource && !['get', 'list', 'watch'].includes(info.verb);

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

function labelsOf(info: RequestInfo): RequestLabels {
  const verb = verbs[info.verb] ?? 'OTHER';
  if (!info.isResource) return { ...none, verb };
  const { group, version, resource, subresource } = info;
  const dryRun = info.query.has('dryRun') ? 'All' : '';
  return { ...none, verb, dry_run: dryRun, group, version, resource, subresource, scope: scopeOf(info) };
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

function scopeOf(info: RequestInfo & { readonly isResource: true }): string {
  if (info.name !== '' || info.verb === 'create') return 'resource';
  return info.namespace === '' ? 'cluster' : 'namespace';
}
