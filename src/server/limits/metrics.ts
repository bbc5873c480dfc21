import type { Registry } from 'prom-client';

import type { Labels } from '../../metrics/collected.ts';
import { collectedCounter, collectedGauge, collectedHistogram } from '../../metrics/collected.ts';
import type { FlowControl } from './flow-control.ts';
import { waitBuckets } from './flow-control.ts';
import type { UnsentBytes } from './unsent-bytes.ts';
import type { WatchLimits } from './watch-limits.ts';

type Counts = ReturnType<FlowControl['levels']> extends Generator<infer T> ? T : never;

/** Kubernetes has flow schemas inside of priority levels; a lane here is both. */
const labelsOf = (lane: string): Labels => ({ priority_level: lane, flow_schema: lane });
const prefix = 'apiserver_flowcontrol';

/** Who runs, waits and is refused, under the names of kube-apiserver's priority and fairness. */
export function flowControlMetrics(
  registry: Registry,
  limits: FlowControl,
  { watches, unsent }: { readonly watches: WatchLimits; readonly unsent: UnsentBytes },
): void {
  const ofLanes = (value: (lane: Counts) => number) => () =>
    limits.levels().map((lane) => [labelsOf(lane.name), value(lane)] as const);
  const total = (name: string, help: string, value: (lane: Counts) => number): void =>
    collectedCounter(registry, `${prefix}_${name}`, help, ofLanes(value));
  const current = (name: string, help: string, value: (lane: Counts) => number): void =>
    collectedGauge(registry, `${prefix}_${name}`, help, ofLanes(value));
  total('dispatched_requests_total', 'Requests that got their turn.', ({ dispatched }) => dispatched);
  current('current_inqueue_requests', 'Requests that wait for their turn.', ({ waiting }) => waiting);
  current('current_executing_seats', 'Seats that requests under way take.', ({ seats }) => seats);
  refusals(registry, limits);
  const waits = 'Time that requests waited, of those that did not run at once.';
  collectedHistogram(registry, `${prefix}_request_wait_duration_seconds`, waits, () =>
    limits.levels().map(({ name, waits }) => [labelsOf(name), { ...waits, bounds: waitBuckets }] as const),
  );
  collectedGauge(registry, 'apiserver_current_inflight_requests', 'Requests under way.', () =>
    Object.entries(limits.inFlight).map(([kind, count]) => [{ request_kind: kind }, count]),
  );
  const waiting = 'Bytes that wait in memory for clients that do not read.';
  collectedGauge(registry, 'fairlead_unsent_bytes', waiting, () => unsent.bytes);
  const dropped = 'Answers and watches cut off because too much waited for their clients.';
  collectedCounter(registry, 'fairlead_unsent_cut_total', dropped, () => unsent.cut);
  const cut = 'Watches cut off because their client was too far behind.';
  collectedCounter(registry, 'apiserver_terminated_watchers_total', cut, () => watches.cut);
}

function refusals(registry: Registry, limits: FlowControl): void {
  const help = 'Requests answered with 429, by reason.';
  collectedCounter(registry, `${prefix}_rejected_requests_total`, help, () =>
    limits
      .levels()
      .flatMap(({ name, refused }) =>
        Object.entries(refused).map(([reason, count]) => [{ ...labelsOf(name), reason }, count] as const),
      ),
  );
}
