import type { Registry } from 'prom-client';

import type { Labels } from '../../metrics/collected.ts';
import { collectedCounter, collectedGauge, collectedHistogram } from '../../metrics/collected.ts';
import type { FlowControl } from './flow-control.ts';
import { waitBuckets } from './flow-control.ts';
import type { UnsentBytes } from './unsent-bytes.ts';
import type { WatchLimits } from './watch-limits.ts';

type Level = ReturnType<FlowControl['levels']> extends Generator<infer T> ? T : never;

/** Kubernetes groups flow schemas in priority levels; here each level is also a flow schema. */
const labelsOf = (level: string): Labels => ({ priority_level: level, flow_schema: level });
const prefix = 'apiserver_flowcontrol';

/** Metrics of flow control, under the names of kube-apiserver's API Priority and Fairness. */
export function flowControlMetrics(
  registry: Registry,
  limits: FlowControl,
  { watches, unsent }: { readonly watches: WatchLimits; readonly unsent: UnsentBytes },
): void {
  const ofLevels = (value: (level: Level) => number) => () =>
    limits.levels().map((level) => [labelsOf(level.name), value(level)] as const);
  const total = (name: string, help: string, value: (level: Level) => number): void =>
    collectedCounter(registry, `${prefix}_${name}`, help, ofLevels(value));
  const current = (name: string, help: string, value: (level: Level) => number): void =>
    collectedGauge(registry, `${prefix}_${name}`, help, ofLevels(value));
  total('dispatched_requests_total', 'Requests that were dispatched.', ({ dispatched }) => dispatched);
  current('current_inqueue_requests', 'Requests that wait to be dispatched.', ({ waiting }) => waiting);
  current('current_executing_seats', 'Seats in use by running requests.', ({ seats }) => seats);
  rejections(registry, limits);
  const waits = 'Time that queued requests waited.';
  collectedHistogram(registry, `${prefix}_request_wait_duration_seconds`, waits, () =>
    limits.levels().map(({ name, waits }) => [labelsOf(name), { ...waits, bounds: waitBuckets }] as const),
  );
  collectedGauge(registry, 'apiserver_current_inflight_requests', 'Running requests.', () =>
    Object.entries(limits.inFlight).map(([kind, count]) => [{ request_kind: kind }, count]),
  );
  const waiting = 'Bytes that wait in memory for clients that do not read.';
  collectedGauge(registry, 'fairlead_unsent_bytes', waiting, () => unsent.bytes);
  const dropped = 'Replies and watches terminated because their clients were too far behind.';
  collectedCounter(registry, 'fairlead_unsent_cut_total', dropped, () => unsent.terminated);
  const cut = 'Watches terminated because their clients were too far behind.';
  collectedCounter(registry, 'apiserver_terminated_watchers_total', cut, () => watches.terminated);
}

function rejections(registry: Registry, limits: FlowControl): void {
  const help = 'Requests answered with 429, by reason.';
  collectedCounter(registry, `${prefix}_rejected_requests_total`, help, () =>
    limits
      .levels()
      .flatMap(({ name, rejected }) =>
        Object.entries(rejected).map(([reason, count]) => [{ ...labelsOf(name), reason }, count] as const),
      ),
  );
}
