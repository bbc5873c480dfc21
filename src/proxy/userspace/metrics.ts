import type { Registry } from 'prom-client';
import { Counter, Gauge } from 'prom-client';

import type { CounterName, Counters } from './counters.ts';
import type { UdpRelays } from './udp.ts';

/** What listeners tell of themselves. Numbers are read when they are asked for. */
export function describe(
  registry: Registry,
  { counters, udp, unopened }: { counters: () => readonly Counters[]; udp: UdpRelays; unopened: () => number },
): void {
  const registers = [registry];
  const sum = (name: CounterName): number => counters().reduce((total, each) => total + each.get(name), 0);
  const gauge = (name: string, help: string, value: () => number): void => {
    new Gauge({
      name: `fairlead_proxy_${name}`,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  };
  const total = <Label extends string>(
    name: string,
    help: string,
    { label, values }: { readonly label: Label; readonly values: Readonly<Record<string, () => number>> },
  ): void => {
    new Counter({
      name: `fairlead_proxy_${name}`,
      help,
      labelNames: [label],
      registers,
      collect() {
        this.reset();
        for (const [value, read] of Object.entries(values)) this.labels(value).inc(read());
      },
    });
  };
  gauge('connections', 'TCP connections that are open.', () => sum('open'));
  gauge('udp_flows', 'UDP flows that are remembered.', () => udp.flows);
  gauge('unopened_routes', 'Routes whose address and port could not be opened.', unopened);
  total('connections_total', 'TCP connections, by what became of them.', {
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
  total('bytes_total', 'Bytes of TCP connections that are over.', {
    label: 'direction',
    values: { to_target: () => sum('bytesUp'), to_client: () => sum('bytesDown') },
  });
  total('datagrams_total', 'Datagrams of clients, by what became of them.', {
    label: 'outcome',
    values: { received: () => udp.datagrams, lost: () => udp.lost },
  });
}
