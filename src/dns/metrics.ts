// Metrics of the server under CoreDNS' names and labels, so that its dashboards work.
import type { Registry } from 'prom-client';

import type { HistogramSample, Labels } from '../metrics/collected.ts';
import { collectedCounter, collectedGauge, collectedHistogram } from '../metrics/collected.ts';
import type { DnsStats, SingleCounter } from './transport/counters.ts';
import type { RunningDns } from './transport/server.ts';
import { rcodeName, typeName } from '../dnswire/codes.ts';

/** Registers the metrics of queries and replies. */
export function serverMetrics(registry: Registry, server: Pick<RunningDns, 'stats'>, label: string): void {
  const labels = { server: label, zone: '.', view: '' };
  const counter = (
    name: string,
    help: string,
    values: (stats: DnsStats) => readonly (readonly [Labels, number])[],
  ): void =>
    collectedCounter(registry, name, help, () =>
      values(server.stats()).map(([more, value]) => [{ ...labels, ...more }, value]),
    );
  counter('coredns_dns_requests_total', 'Queries received.', ({ requests }) =>
    requests.map(({ protocol, family, type, count }) => [
      { proto: protocol, family, type: type === 0 ? 'other' : typeName(type) },
      count,
    ]),
  );
  counter('coredns_dns_responses_total', 'Replies sent.', ({ responses }) =>
    responses.map(({ rcode, count }) => [{ rcode: rcodeName(rcode), plugin: 'kubernetes' }, count]),
  );
  const total = (name: string, help: string, of: SingleCounter): void =>
    counter(name, help, ({ totals }) => [[{}, totals[of]]]);
  total('coredns_dns_do_requests_total', 'Queries with the DO bit.', 'dnssecOk');
  total('coredns_shed_dropped_total', 'Queries dropped because too many were in progress.', 'shed');
  total(
    'fairlead_dns_limited_total',
    'UDP replies truncated or dropped because a client exceeded its rate.',
    'limited',
  );
  total('fairlead_dns_full_path_total', 'Queries handled on the slow path, without a prepared answer.', 'slowPath');
  total('fairlead_dns_refused_connections_total', 'TCP connections refused.', 'refusedConnections');
  collectedGauge(
    registry,
    'fairlead_dns_connections',
    'TCP connections open.',
    () => server.stats().totals.connections,
  );
  const histogram = (
    name: string,
    help: string,
    of: (stats: DnsStats) => Readonly<Record<'udp' | 'tcp', HistogramSample>>,
  ): void =>
    collectedHistogram(registry, name, help, () =>
      Object.entries(of(server.stats())).map(([proto, each]) => [{ ...labels, proto }, each]),
    );
  histogram('coredns_dns_request_size_bytes', 'Size of queries.', (stats) => stats.requestSizes);
  histogram('coredns_dns_response_size_bytes', 'Size of replies.', (stats) => stats.responseSizes);
  histogram('coredns_dns_request_duration_seconds', 'Time from a query to its reply.', (stats) => stats.durations);
}

/** Registers CoreDNS' metrics of the server itself: errors, reloads, enabled plugins. */
export function serverStateMetrics(
  registry: Registry,
  label: string,
  read: { readonly errors: () => number; readonly failedReloads: () => number; readonly forwards: () => boolean },
): void {
  collectedCounter(registry, 'coredns_panics_total', 'Errors of queries and worker threads.', read.errors);
  const reloads = 'Configurations that could not be applied.';
  collectedCounter(registry, 'coredns_reload_failed_total', reloads, read.failedReloads);
  collectedGauge(registry, 'coredns_plugin_enabled', 'Enabled features, by the name of the CoreDNS plugin.', () =>
    ['kubernetes', ...(read.forwards() ? ['forward', 'cache'] : [])].map((name) => [
      { server: label, zone: '.', view: '', name },
      1,
    ]),
  );
}
