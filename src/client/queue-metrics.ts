import type { Registry } from 'prom-client';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Clock } from './clock.ts';
import { systemClock } from './clock.ts';
import type { Key } from './key.ts';
import type { QueueObserver } from './queue.ts';

const labelNames = ['name'] as const;
const buckets = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10];

/** Registers the `workqueue_…` metrics and returns a factory of observers by queue name. */
export function queueMetrics(registry: Registry, clock: Clock = systemClock): (name: string) => QueueObserver {
  const registers = [registry];
  const depth = new Gauge({ name: 'workqueue_depth', help: 'Current depth of workqueue', labelNames, registers });
  const adds = new Counter({
    name: 'workqueue_adds_total',
    help: 'Total number of adds handled by workqueue',
    labelNames,
    registers,
  });
  const waits = new Histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'How long in seconds an item stays in workqueue before being requested',
    labelNames,
    buckets,
    registers,
  });
  const works = new Histogram({
    name: 'workqueue_work_duration_seconds',
    help: 'How long in seconds processing an item from workqueue takes',
    labelNames,
    buckets,
    registers,
  });
  const retries = new Counter({
    name: 'workqueue_retries_total',
    help: 'Total number of retries handled by workqueue',
    labelNames,
    registers,
  });
  return (name) => {
    // Label lookups cost more than increments, so they are done once. Counters exist before their first event.
    const [added, retried, waiting] = [adds.labels(name), retries.labels(name), depth.labels(name)];
    const [waited, worked] = [waits.labels(name), works.labels(name)];
    added.inc(0);
    retried.inc(0);
    waiting.set(0);
    const since = new Map<Key, number>();
    const secondsSince = (key: Key): number => (clock.elapsed() - (since.get(key) ?? clock.elapsed())) / 1000;
    return {
      added(key) {
        added.inc();
        since.set(key, clock.elapsed());
        waiting.inc();
      },
      started(key) {
        waiting.dec();
        waited.observe(secondsSince(key));
        since.set(key, clock.elapsed());
      },
      finished(key) {
        worked.observe(secondsSince(key));
        since.delete(key);
      },
      retried: () => retried.inc(),
      stopped() {
        waiting.set(0);
        since.clear();
      },
    };
  };
}
