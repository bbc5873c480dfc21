// What the server has answered, under the names and labels that CoreDNS gives it: dashboards are written for these.
import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';

import { collectedHistogram } from './collected.ts';
import type { DnsStats, Histogram, SingleCounter } from './transport/counters.ts';
import type { RunningDns } from './transport/server.ts';
import { rcodeName, typeName } from './wire/codes.ts';

/** Registers the metrics. They are read when somebody asks for them, and cost nothing until then. */
export function serverMetrics(registry: Registry, server: Pick<RunningDns, 'stats'>, label: string): void {
  const place = { server: label, zone: '.', view: '' };
  const counter = (
    name: string,
    help: string,
    values: (stats: DnsStats) => Iterable<readonly [Readonly<Record<string, string>>, number]>,
    labels: readonly string[] = [],
  ): void => {
    new Counter({
      name,
      help,
      labelNames: [...Object.keys(place), ...labels],
      registers: [registry],
      collect() {
        this.reset();
        for (const [more, value] of values(server.stats())) this.inc({ ...place, ...more }, value);
      },
    });
  };
  counter(
    'coredns_dns_requests_total',
    'Queries received.',
    ({ requests }) =>
      requests.map(({ protocol, family, type, count }) => [
        { proto: protocol, family, type: type === 0 ? 'other' : typeName(type) },
        count,
      ]),
    ['proto', 'family', 'type'],
  );
  counter(
    'coredns_dns_responses_total',
    'Replies sent.',
    ({ responses }) => responses.map(({ rcode, count }) => [{ rcode: rcodeName(rcode), plugin: 'kubernetes' }, count]),
    ['rcode', 'plugin'],
  );
  const total = (name: string, help: string, of: SingleCounter): void =>
    counter(name, help, ({ totals }) => [[{}, totals[of]]]);
  total('coredns_dns_do_requests_total', 'Queries that asked for DNSSEC.', 'dnssecOk');
  total('coredns_shed_dropped_total', 'Queries that were dropped because too many were under way.', 'shed');
  total('fairlead_dns_limited_total', 'Datagrams kept from a client that was sent too many.', 'limited');
  total('fairlead_dns_full_path_total', 'Queries that no prepared answer fitted.', 'asked');
  total('fairlead_dns_refused_connections_total', 'TCP connections refused.', 'refusedConnections');
  new Gauge({
    name: 'fairlead_dns_connections',
    help: 'TCP connections open.',
    registers: [registry],
    collect() {
      this.set(server.stats().totals.connections);
    },
  });
  const histogram = (
    name: string,
    help: string,
    of: (stats: DnsStats) => Readonly<Record<'udp' | 'tcp', Histogram>>,
  ): void =>
    registry.registerMetric(
      collectedHistogram(name, help, () =>
        Object.entries(of(server.stats())).map(([proto, each]) => [{ ...place, proto }, each]),
      ),
    );
  histogram('coredns_dns_request_size_bytes', 'Size of queries.', (stats) => stats.requestSizes);
  histogram('coredns_dns_response_size_bytes', 'Size of replies.', (stats) => stats.responseSizes);
  histogram('coredns_dns_request_duration_seconds', 'How long answers took.', (stats) => stats.durations);
}
