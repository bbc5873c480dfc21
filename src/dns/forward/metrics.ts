// What forwarding does, under the names and labels that CoreDNS gives it.
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
  /** Answers in the cache now. */
  readonly cacheSize: () => { readonly success: number; readonly denial: number };
  /** Different questions at upstreams now. */
  readonly inFlight: () => number;
}

/** Registers the metrics. They are read when somebody asks for them, and cost nothing until then. */
export function forwardMetrics(options: ForwardMetricsOptions): void {
  const { registry, counters, inFlight } = options;
  cacheMetrics(options);
  const total = counterIn(registry);
  total(
    'coredns_forward_max_concurrent_rejects_total',
    'Questions refused because too many were under way.',
    () => counters.refused.overload + counters.refused.domain + counters.refused.client,
  );
  total(
    'coredns_forward_healthcheck_broken_total',
    'Questions asked while every upstream was down.',
    () => counters.allDown,
  );
  total('fairlead_dns_forward_refused_total', 'Questions that were not forwarded, by reason.', () =>
    Object.entries(counters.refused).map(([reason, count]) => [{ reason }, count]),
  );
  total(
    'fairlead_dns_forward_coalesced_total',
    'Questions that joined an equal one under way.',
    () => counters.coalesced,
  );
  total(
    'fairlead_dns_forward_private_answers_total',
    'Answers from which private addresses were removed.',
    () => counters.privateAnswers,
  );
  total('fairlead_dns_forward_loops_total', 'Questions of our own that came back to us.', () => counters.loops);
  collectedGauge(registry, 'fairlead_dns_forward_in_flight', 'Different questions at upstreams.', inFlight);
  upstreamMetrics(registry, counters);
}

const counterIn =
  (registry: Registry) =>
  (name: string, help: string, read: () => Samples): void =>
    collectedCounter(registry, name, help, read);

function cacheMetrics({ registry, counters, server, cacheSize }: ForwardMetricsOptions): void {
  const { cache } = counters;
  const place = { server, zones: '.', view: '' };
  const total = counterIn(registry);
  const byType = ({ success, denial }: { readonly success: number; readonly denial: number }): Samples => [
    [{ ...place, type: 'success' }, success],
    [{ ...place, type: 'denial' }, denial],
  ];
  collectedGauge(registry, 'coredns_cache_entries', 'Answers in the cache.', () => byType(cacheSize()));
  total('coredns_cache_hits_total', 'Questions answered from the cache.', () => byType(cache.hits));
  total('coredns_cache_evictions_total', 'Answers that had to make room.', () => byType(cache.evictions));
  const one = (name: string, help: string, value: () => number): void => total(name, help, () => [[place, value()]]);
  one('coredns_cache_misses_total', 'Questions that the cache had no answer to.', () => cache.misses);
  one('coredns_cache_requests_total', 'Questions looked up in the cache.', () => {
    return cache.hits.success + cache.hits.denial + cache.misses;
  });
  one('coredns_cache_prefetch_total', 'Popular answers renewed before their time.', () => cache.prefetches);
  one('coredns_cache_served_stale_total', 'Answers given past their time.', () => cache.servedStale);
  one('coredns_cache_drops_total', 'Replies that were broken or matched no question.', () =>
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
    'Questions and probes without an answer.',
    (counts) => counts.failures,
  );
  const tcp = { proto: 'tcp' };
  each(
    'coredns_proxy_conn_cache_hits_total',
    'Questions that found a connection.',
    (counts) => counts.connections.reused,
    tcp,
  );
  each(
    'coredns_proxy_conn_cache_misses_total',
    'Questions that opened one.',
    (counts) => counts.connections.opened,
    tcp,
  );
  each(
    'fairlead_dns_forward_wrong_replies_total',
    'Datagrams that matched no question.',
    (counts) => counts.wrongReplies,
  );
  const durations = 'coredns_proxy_request_duration_seconds';
  const help = 'How long upstreams took to answer.';
  collectedHistogram(registry, durations, help, () => durationsOf(counters));
  // Names from before CoreDNS 1.11, which dashboards still have.
  const count = ({ durations }: UpstreamCounts): number =>
    durations.values().reduce((sum, each) => sum + each.count, 0);
  total('coredns_forward_requests_total', 'Questions to an upstream.', () =>
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
