// Counters of forwarding. They survive a reload; metrics.ts reads them at each scrape.

/** Upper bounds of duration buckets in seconds: those of CoreDNS. */
export const durationBuckets = [
  0.000_25, 0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192,
] as const;

/** A histogram of durations. */
class Durations {
  /** Per bucket, not cumulative; longer durations count only in `count`. */
  readonly buckets: number[] = durationBuckets.map(() => 0);
  count = 0;
  sum = 0;

  observe(seconds: number): void {
    this.count += 1;
    this.sum += seconds;
    const index = durationBuckets.findIndex((bound) => seconds <= bound);
    if (index !== -1) this.buckets[index] = (this.buckets[index] ?? 0) + 1;
  }
}

/** Counters of an upstream. */
export class UpstreamCounts {
  /** Response code → durations. There are few codes, so the map stays small. */
  readonly durations = new Map<number, Durations>();
  /** Queries and probes without an answer. */
  failures = 0;
  /** Datagrams that matched no query. */
  wrongReplies = 0;
  /** TCP queries on open and on new connections. */
  readonly connections = { reused: 0, opened: 0 };

  answered(rcode: number, ms: number): void {
    let durations = this.durations.get(rcode);
    if (durations === undefined) this.durations.set(rcode, (durations = new Durations()));
    durations.observe(ms / 1000);
  }
}

/** Counters of the cache; `denial` includes failures. */
export interface CacheCounts {
  readonly hits: { success: number; denial: number };
  readonly evictions: { success: number; denial: number };
  misses: number;
  servedStale: number;
  prefetches: number;
}

export const newCacheCounts = (): CacheCounts => ({
  hits: { success: 0, denial: 0 },
  evictions: { success: 0, denial: 0 },
  misses: 0,
  servedStale: 0,
  prefetches: 0,
});

/** Counters of forwarding. */
export class ForwardCounters {
  readonly cache: CacheCounts = newCacheCounts();
  /** Refused queries by reason. */
  readonly refused = { overload: 0, domain: 0, client: 0, rate: 0, stranger: 0, kind: 0 };
  /** Queries that joined an identical one in flight. */
  coalesced = 0;
  /** Queries while all their upstreams were down. */
  allDown = 0;
  /** Answers from which private addresses were removed. */
  privateAnswers = 0;
  /** Queries of this server that returned to it. */
  loops = 0;
  /** Upstream → its counters. */
  readonly upstreams = new Map<string, UpstreamCounts>();

  upstream(name: string): UpstreamCounts {
    let counts = this.upstreams.get(name);
    if (counts === undefined) this.upstreams.set(name, (counts = new UpstreamCounts()));
    return counts;
  }
}
