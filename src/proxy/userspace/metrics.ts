import type { Registry } from 'prom-client';

import { collectedCounter, collectedGauge } from '../../metrics/collected.ts';
import type { CounterName, Counters } from './counters.ts';
import type { UdpRelays } from './udp.ts';

/** Registers the metrics of listeners. */
export function registerMetrics(
  registry: Registry,
  { counters, udp, unopened }: { counters: () => readonly Counters[]; udp: UdpRelays; unopened: () => number },
): void {
  const sum = (name: CounterName): number => counters().reduce((total, each) => total + each.get(name), 0);
  const gauge = (name: string, help: string, value: () => number): void =>
    collectedGauge(registry, `fairlead_proxy_${name}`, help, value);
  const total = (
    name: string,
    help: string,
    { label, values }: { readonly label: string; readonly values: Readonly<Record<string, () => number>> },
  ): void =>
    collectedCounter(registry, `fairlead_proxy_${name}`, help, () =>
      Object.entries(values).map(([value, read]) => [{ [label]: value }, read()]),
    );
  gauge('connections', 'Open TCP connections.', () => sum('open'));
  gauge('udp_flows', 'Active UDP flows.', () => udp.flows);
  gauge('unopened_routes', 'Routes whose listener could not be opened.', unopened);
  total('connections_total', 'TCP connections by outcome.', {
    label: 'outcome',
    values: {
      accepted: () => sum('accepted'),
      refused: () => sum('refused'),
      limited: () => sum('limited'),
      failed: () => sum('failed'),
    },
  });
  total('dial_failures_total', 'Targets that did not answer.', {
    label: 'protocol',
    values: { TCP: () => sum('dialFailures') },
  });
  total('bytes_total', 'Bytes of closed TCP connections by direction.', {
    label: 'direction',
    values: { to_target: () => sum('bytesUp'), to_client: () => sum('bytesDown') },
  });
  total('datagrams_total', 'Datagrams of clients by outcome.', {
    label: 'outcome',
    values: { received: () => udp.datagrams, lost: () => udp.lost, limited: () => udp.limited },
  });
}
