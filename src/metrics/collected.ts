// Metrics of numbers that are kept elsewhere: they are read when somebody asks for them, and cost nothing until then.
import type { Metric, Registry } from 'prom-client';

export type Labels = Readonly<Record<string, string>>;

/** One number, or one for each set of labels. */
export type Samples = number | Iterable<readonly [Labels, number]>;

/** Counts by upper bound; the last count is for what exceeds them all. */
export interface Counted {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Where it is not the metric's own: a histogram has three. */
  readonly metricName?: string;
}

/** A counter whose value is read. */
export function collectedCounter(registry: Registry, name: string, help: string, read: () => Samples): void {
  register(registry, { name, help, type: 'counter' }, () => samplesOf(read()));
}

/** A gauge whose value is read. */
export function collectedGauge(registry: Registry, name: string, help: string, read: () => Samples): void {
  register(registry, { name, help, type: 'gauge' }, () => samplesOf(read()));
}

/** A histogram that is counted elsewhere: to observe with labels may cost more than what is measured. */
export function collectedHistogram(
  registry: Registry,
  name: string,
  help: string,
  read: () => Iterable<readonly [Labels, Counted]>,
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
  // The registry asks a metric for its name and its values, and for nothing else.
  registry.registerMetric({ name: about.name, get, reset: () => undefined } as unknown as Metric);
}

const samplesOf = (samples: Samples): readonly Sample[] =>
  typeof samples === 'number'
    ? [{ labels: {}, value: samples }]
    : Array.from(samples, ([labels, value]) => ({ labels, value }));

function bucketsOf(name: string, labels: Labels, { bounds, counts, count, sum }: Counted): readonly Sample[] {
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
