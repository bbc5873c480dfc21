// What happened, in plain numbers: they outlive a reload of the configuration, and metrics.ts reads them when asked.

/** Upper bounds of the buckets that durations are counted in, in seconds; those of CoreDNS. */
export const durationBuckets = [
  0.000_25, 0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192,
] as const;

/** Durations, counted. */
class Durations {
  /** Per bucket, not cumulated; what is above all of them is only in `count`. */
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

/** Of one upstream. */
export class UpstreamCounts {
  /** Response code → how long such answers took. There are few codes, so this stays small. */
  readonly durations = new Map<number, Durations>();
  /** Questions and probes without an answer. */
  failures = 0;
  /** Datagrams that were no reply to what was asked. */
  wrongReplies = 0;
  /** Questions over TCP that found a connection open, and that did not. */
  readonly connections = { reused: 0, opened: 0 };

  answered(rcode: number, ms: number): void {
    let durations = this.durations.get(rcode);
    if (durations === undefined) this.durations.set(rcode, (durations = new Durations()));
    durations.observe(ms / 1000);
  }
}

/** Of the cache; `denial` counts failures too. */
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

/** Of all forwarding. */
export class ForwardCounters {
  readonly cache: CacheCounts = newCacheCounts();
  /** Questions refused, by reason. */
  readonly refused = { overload: 0, domain: 0, client: 0, rate: 0, stranger: 0, kind: 0 };
  /** Questions that joined one under way. */
  coalesced = 0;
  /** Questions asked while every upstream for them was down. */
  allDown = 0;
  /** Answers from which private addresses were removed. */
  privateAnswers = 0;
  /** Questions of our own that came back to us. */
  loops = 0;
  /** Name of the upstream → its counts. */
  readonly upstreams = new Map<string, UpstreamCounts>();

  upstream(name: string): UpstreamCounts {
    let counts = this.upstreams.get(name);
    if (counts === undefined) this.upstreams.set(name, (counts = new UpstreamCounts()));
    return counts;
  }
}
