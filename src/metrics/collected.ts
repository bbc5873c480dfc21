// Metrics whose values are kept elsewhere and read only when they are collected.
import type { Metric, Registry } from 'prom-client';

export type Labels = Readonly<Record<string, string>>;

/** One number, or one per set of labels. */
export type Samples = number | Iterable<readonly [Labels, number]>;

/** Counts per upper bound; the last count is for larger values. */
export interface HistogramSample {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Set if it differs from the name of the metric: a histogram has three. */
  readonly metricName?: string;
}

/** Registers a counter. */
export function collectedCounter(registry: Registry, name: string, help: string, read: () => Samples): void {
  register(registry, { name, help, type: 'counter' }, () => samplesOf(read()));
}

/** Registers a gauge. */
export function collectedGauge(registry: Registry, name: string, help: string, read: () => Samples): void {
  register(registry, { name, help, type: 'gauge' }, () => samplesOf(read()));
}

/** Registers a histogram that is counted elsewhere: observing with labels may cost more than the measured work. */
export function collectedHistogram(
  registry: Registry,
  name: string,
  help: string,
  read: () => Iterable<readonly [Labels, HistogramSample]>,
): void {
  register(registry, { name, help, type: 'histogram' }, () =>
    Array.from(read(), ([labels, counted]) => bucketsOf(name, labels, counted)).flat(),
  );
}

function register(
  registry: Registry,
  about: { readonly name: string; readonly help: string; readonly type: string },
  values: () => readonly Sample[],
): void {
  const get = async (): Promise<object> => ({ ...about, aggregator: 'sum', values: values() });
  // The registry only reads the name and the values.
  registry.registerMetric({ name: about.name, get, reset: () => undefined } as unknown as Metric);
}

const samplesOf = (samples: Samples): readonly Sample[] =>
  typeof samples === 'number'
    ? [{ labels: {}, value: samples }]
    : Array.from(samples, ([labels, value]) => ({ labels, value }));

function bucketsOf(name: string, labels: Labels, { bounds, counts, count, sum }: HistogramSample): readonly Sample[] {
  let below = 0;
  const cumulated = bounds.map((le, index) => {
    below += counts[index] ?? 0;
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: below };
  });
  return [
    ...cumulated,
    { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: count },
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
