import type { Histogram as PrometheusHistogram } from 'prom-client';

/** Counts by upper bound, in plain numbers; the last count is for what exceeds them all. */
export interface Counted {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

type Labels = Readonly<Record<string, string>>;

/** A histogram of numbers that are counted elsewhere: to observe with labels costs more than what is measured. */
export function collectedHistogram(
  name: string,
  help: string,
  values: () => Iterable<readonly [Labels, Counted]>,
): PrometheusHistogram {
  const get = async (): Promise<object> => ({
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    values: Array.from(values(), ([labels, counted]) => samplesOf(name, labels, counted)).flat(),
  });
  // The registry asks a metric for its name and its values, and for nothing else.
  return { name, get, reset: () => undefined } as unknown as PrometheusHistogram;
}

function samplesOf(name: string, labels: Labels, { bounds, counts, count, sum }: Counted): readonly object[] {
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
