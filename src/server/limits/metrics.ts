import { Counter } from 'prom-client';
import type { Histogram, Registry } from 'prom-client';

import { gauge } from '../gauge.ts';
import type { FlowControl } from './flow-control.ts';
import { waitBuckets } from './flow-control.ts';
import type { WatchLimits } from './watch-limits.ts';

type Counts = ReturnType<FlowControl['lanes']> extends Generator<infer T> ? T : never;

/** Kubernetes has flow schemas inside of priority levels; a lane here is both. */
const labelsOf = (lane: string): Record<string, string> => ({ priority_level: lane, flow_schema: lane });
const labelNames = ['priority_level', 'flow_schema'];

/** Who runs, waits and is refused, under the names of kube-apiserver's priority and fairness. */
export function flowControlMetrics(registers: Registry[], limits: FlowControl, watches: WatchLimits): void {
  const prefix = 'apiserver_flowcontrol';
  const total = (name: string, help: string, value: (lane: Counts) => number): void => {
    new Counter({
      name: `${prefix}_${name}`,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const lane of limits.lanes()) this.inc(labelsOf(lane.name), value(lane));
      },
    });
  };
  const current = (name: string, help: string, value: (lane: Counts) => number): void =>
    gauge(registers, `${prefix}_${name}`, help, labelNames, (set) => {
      for (const lane of limits.lanes()) set(labelsOf(lane.name), value(lane));
    });
  total('dispatched_requests_total', 'Requests that got their turn.', ({ dispatched }) => dispatched);
  current('current_inqueue_requests', 'Requests that wait for their turn.', ({ waiting }) => waiting);
  current('current_executing_seats', 'Seats that requests under way take.', ({ seats }) => seats);
  refusals(registers, limits);
  for (const registry of registers) registry.registerMetric(waitHistogram(limits));
  gauge(registers, 'apiserver_current_inflight_requests', 'Requests under way.', ['request_kind'], (set) => {
    for (const [kind, count] of Object.entries(limits.inFlight)) set({ request_kind: kind }, count);
  });
  gauge(registers, 'fairlead_watch_pending_bytes', 'Bytes held for watches that are behind.', [], (set) =>
    set({}, watches.bytes),
  );
  new Counter({
    name: 'apiserver_terminated_watchers_total',
    help: 'Watches cut off because their client was too far behind.',
    registers,
    collect() {
      this.reset();
      this.inc(watches.cut);
    },
  });
}

/** Kept by the lanes themselves: to observe with labels costs more than to admit a request. */
function waitHistogram(limits: FlowControl): Histogram {
  const name = 'apiserver_flowcontrol_request_wait_duration_seconds';
  const get = async (): Promise<object> => ({
    name,
    help: 'Time that requests waited, of those that did not run at once.',
    type: 'histogram',
    aggregator: 'sum',
    values: Array.from(limits.lanes()).flatMap(({ name: lane, waits }) => [
      ...waitBuckets.map((le, index) => ({
        metricName: `${name}_bucket`,
        labels: { ...labelsOf(lane), le },
        value: waits.atMost[index] ?? 0,
      })),
      { metricName: `${name}_bucket`, labels: { ...labelsOf(lane), le: '+Inf' }, value: waits.count },
      { metricName: `${name}_sum`, labels: labelsOf(lane), value: waits.sum },
      { metricName: `${name}_count`, labels: labelsOf(lane), value: waits.count },
    ]),
  });
  // The registry asks a metric for its name and its values, and for nothing else.
  return { name, get, reset: () => undefined } as unknown as Histogram;
}

function refusals(registers: Registry[], limits: FlowControl): void {
  new Counter({
    name: 'apiserver_flowcontrol_rejected_requests_total',
    help: 'Requests answered with 429, by reason.',
    labelNames: [...labelNames, 'reason'],
    registers,
    collect() {
      this.reset();
      for (const { name, refused } of limits.lanes()) {
        for (const [reason, count] of Object.entries(refused)) this.inc({ ...labelsOf(name), reason }, count);
      }
    },
  });
}
