import type { Registry } from 'prom-client';
import { collectedCounter, collectedGauge } from '../metrics/collected.ts';
import type { WebServer } from './http/web-server.ts';

/** Registers the metrics of the dashboard. */
export function dashboardMetrics(registry: Registry, { streams, sessions, answers }: WebServer): void {
  collectedGauge(registry, 'fairlead_dashboard_streams', 'Open pages that receive changes.', () => streams.size);
  collectedGauge(registry, 'fairlead_dashboard_sessions', 'Signed-in browsers.', () => sessions.size);
  collectedCounter(
    registry,
    'fairlead_dashboard_rows_sent_total',
    'Rows sent to pages, the initial ones and changed ones.',
    () => streams.counts.rowsSent,
  );
  collectedCounter(
    registry,
    'fairlead_dashboard_slow_writes_total',
    'Messages that waited for a page that did not accept them at once.',
    () => streams.counts.slowWrites,
  );
  collectedCounter(registry, 'fairlead_dashboard_responses_total', 'HTTP responses, by status code.', () =>
    Array.from(answers, ([code, count]) => [{ code: String(code) }, count] as const),
  );
}
