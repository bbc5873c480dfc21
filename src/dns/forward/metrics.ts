// Metrics of forwarding under CoreDNS' names and labels.
import type { Registry } from 'prom-client';

import type { HistogramSample, Labels, Samples } from '../../metrics/collected.ts';
import { collectedCounter, collectedGauge, collectedHistogram } from '../../metrics/collected.ts';
import { rcodeName } from '../../dnswire/codes.ts';
import type { ForwardCounters, UpstreamCounts } from './counters.ts';
import { durationBuckets } from './counters.ts';

export interface ForwardMetricsOptions {
  readonly registry: Registry;
  readonly counters: ForwardCounters;
  /** The `server` label of CoreDNS: `dns://:53`. */
  readonly server: string;
  /** Number of cached answers. */
  readonly cacheSize: () => { readonly success: number; readonly denial: number };
  /** Number of queries at upstreams. */
  readonly inFlight: () => number;
}

/** Registers the metrics. They are read at each scrape and cost nothing otherwise. */
export function forwardMetrics(options: ForwardMetricsOptions): void {
  const { registry, counters, inFlight } = options;
  cacheMetrics(options);
  const total = counterIn(registry);
  total(
    'coredns_forward_max_concurrent_rejects_total',
    'Queries refused because too many were in flight.',
    () => counters.refused.overload + counters.refused.domain + counters.refused.client,
  );
  total('coredns_forward_healthcheck_broken_total', 'Queries while all upstreams were down.', () => counters.allDown);
  total('fairlead_dns_forward_refused_total', 'Queries that were not forwarded, by reason.', () =>
    Object.entries(counters.refused).map(([reason, count]) => [{ reason }, count]),
  );
  total(
    'fairlead_dns_forward_coalesced_total',
    'Queries that joined an identical one in flight.',
    () => counters.coalesced,
  );
  total(
    'fairlead_dns_forward_private_answers_total',
    'Answers from which private addresses were removed.',
    () => counters.privateAnswers,
  );
  total('fairlead_dns_forward_loops_total', 'Queries of this server that returned to it.', () => counters.loops);
  collectedGauge(registry, 'fairlead_dns_forward_in_flight', 'Queries at upstreams.', inFlight);
  upstreamMetrics(registry, counters);
}

const counterIn =
  (registry: Registry) =>
  (name: string, help: string, read: () => Samples): void =>
    collectedCounter(registry, name, help, read);

function cacheMetrics({ registry, counters, server, cacheSize }: ForwardMetricsOptions): void {
  const { cache } = counters;
  const labels = { server, zones: '.', view: '' };
  const total = counterIn(registry);
  const byType = ({ success, denial }: { readonly success: number; readonly denial: number }): Samples => [
    [{ ...labels, type: 'success' }, success],
    [{ ...labels, type: 'denial' }, denial],
  ];
  collectedGauge(registry, 'coredns_cache_entries', 'Cached answers.', () => byType(cacheSize()));
  total('coredns_cache_hits_total', 'Queries answered from the cache.', () => byType(cache.hits));
  total('coredns_cache_evictions_total', 'Answers evicted from the cache.', () => byType(cache.evictions));
  const one = (name: string, help: string, value: () => number): void => total(name, help, () => [[labels, value()]]);
  one('coredns_cache_misses_total', 'Queries without a cached answer.', () => cache.misses);
  one('coredns_cache_requests_total', 'Queries looked up in the cache.', () => {
    return cache.hits.success + cache.hits.denial + cache.misses;
  });
  one('coredns_cache_prefetch_total', 'Popular answers refreshed before they expired.', () => cache.prefetches);
  one('coredns_cache_served_stale_total', 'Stale answers returned.', () => cache.servedStale);
  one('coredns_cache_drops_total', 'Replies that were malformed or matched no query.', () =>
    counters.upstreams.values().reduce((sum, { wrongReplies }) => sum + wrongReplies, 0),
  );
}

function upstreamMetrics(registry: Registry, counters: ForwardCounters): void {
  const total = counterIn(registry);
  const each = (name: string, help: string, value: (counts: UpstreamCounts) => number, more: Labels = {}): void =>
    total(name, help, () =>
      Array.from(counters.upstreams, ([to, counts]) => [{ proxy_name: 'forward', to, ...more }, value(counts)]),
    );
  each(
    'coredns_proxy_healthcheck_failures_total',
    'Queries and probes without an answer.',
    (counts) => counts.failures,
  );
  const tcp = { proto: 'tcp' };
  each(
    'coredns_proxy_conn_cache_hits_total',
    'Queries on an open connection.',
    (counts) => counts.connections.reused,
    tcp,
  );
  each(
    'coredns_proxy_conn_cache_misses_total',
    'Queries that opened a connection.',
    (counts) => counts.connections.opened,
    tcp,
  );
  each('fairlead_dns_forward_wrong_replies_total', 'Datagrams that matched no query.', (counts) => counts.wrongReplies);
  const durations = 'coredns_proxy_request_duration_seconds';
  const help = 'Response time of upstreams.';
  collectedHistogram(registry, durations, help, () => durationsOf(counters));
  // Names before CoreDNS 1.11, which some dashboards still use.
  const count = ({ durations }: UpstreamCounts): number =>
    durations.values().reduce((sum, each) => sum + each.count, 0);
  total('coredns_forward_requests_total', 'Queries to an upstream.', () =>
    Array.from(counters.upstreams, ([to, counts]) => [{ to }, count(counts) + counts.failures] as const),
  );
  total('coredns_forward_responses_total', 'Answers of an upstream.', () =>
    Array.from(counters.upstreams, ([to, { durations }]) =>
      Array.from(durations, ([rcode, each]) => [{ to, rcode: rcodeName(rcode) }, each.count] as const),
    ).flat(),
  );
}

const durationsOf = (counters: ForwardCounters): Iterable<readonly [Labels, HistogramSample]> =>
  Array.from(counters.upstreams, ([to, { durations }]) =>
    Array.from(durations, ([rcode, { buckets: counts, count, sum }]) => {
      const labels = { proxy_name: 'forward', to, rcode: rcodeName(rcode) };
      return [labels, { bounds: durationBuckets, counts, count, sum }] as const;
    }),
  ).flat();
