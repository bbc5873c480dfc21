// Counters of one thread in memory that the main thread reads. Each has a single writer, so adding needs no atomics.

/** Upper bounds of message sizes in bytes: those of CoreDNS' dashboards. */
const sizeBounds: readonly number[] = [0, 100, 200, 300, 400, 511, 1023, 2047, 4095, 8291, 16e3, 32e3, 48e3, 64e3];
/** Upper bounds of durations in seconds: 0.25 ms doubled 15 times. */
const durationBounds: readonly number[] = Array.from({ length: 16 }, (_, index) => 0.00025 * 2 ** index);

const protocols = ['udp', 'tcp'] as const;
const clientFamilies = ['1', '2'] as const;
/** Types above 255 count as type 0. */
const countedTypes = 256;
const countedRcodes = 32;

const single = [
  'dnssecOk',
  /** Queries sent to the slow path. */
  'slowPath',
  /** Queries dropped because the slow path or the client's share of it was full. */
  'shed',
  /** Replies dropped or truncated because the client exceeded its rate. */
  'limited',
  /** Messages dropped because they deserve no reply. */
  'dropped',
  'unsent',
  'connections',
  'accepted',
  'refusedConnections',
] as const;
/** A counter without labels. */
export type SingleCounter = (typeof single)[number];

interface HistogramAt {
  readonly start: number;
  readonly bounds: readonly number[];
}

let end = 0;
const reserve = (count: number): number => {
  const start = end;
  end += count;
  return start;
};
const histogram = (bounds: readonly number[]): HistogramAt => ({ start: reserve(bounds.length + 3), bounds });

const at = {
  requests: reserve(protocols.length * clientFamilies.length * countedTypes),
  responses: reserve(countedRcodes),
  single: reserve(single.length),
  requestSizes: protocols.map(() => histogram(sizeBounds)),
  responseSizes: protocols.map(() => histogram(sizeBounds)),
  durations: protocols.map(() => histogram(durationBounds)),
};
/** The size of the counters of one thread. */
export const counterBytes: number = end * 8;

/** Size in bytes → bucket. */
const sizeBucket: Uint8Array = Uint8Array.from({ length: 2048 }, (_, size) => bucketOf(sizeBounds, size));

function bucketOf(bounds: readonly number[], value: number): number {
  const found = bounds.findIndex((bound) => value <= bound);
  return found === -1 ? bounds.length : found;
}

/** The counters of this thread. */
export class Counters {
  readonly #cells: Float64Array;

  constructor(buffer: SharedArrayBuffer) {
    this.#cells = new Float64Array(buffer);
  }

  request(protocol: 0 | 1, isInet6: boolean, type: number, bytes: number): void {
    const row = (protocol * 2 + (isInet6 ? 1 : 0)) * countedTypes;
    this.#add(at.requests + row + (type < countedTypes ? type : 0), 1);
    this.#size(at.requestSizes[protocol], bytes);
  }

  response(protocol: 0 | 1, rcode: number, bytes: number): void {
    this.#add(at.responses + (rcode & (countedRcodes - 1)), 1);
    this.#size(at.responseSizes[protocol], bytes);
  }

  /** Records `count` answers of the same duration. */
  duration(protocol: 0 | 1, seconds: number, count: number): void {
    const where = at.durations[protocol];
    if (where === undefined) return;
    this.#add(where.start + bucketOf(where.bounds, seconds), count);
    this.#add(where.start + where.bounds.length + 1, seconds * count);
    this.#add(where.start + where.bounds.length + 2, count);
  }

  count(name: SingleCounter, by: number = 1): void {
    this.#add(at.single + single.indexOf(name), by);
  }

  #size(where: HistogramAt | undefined, bytes: number): void {
    if (where === undefined) return;
    const bucket = bytes < sizeBucket.length ? (sizeBucket[bytes] ?? 0) : bucketOf(where.bounds, bytes);
    this.#add(where.start + bucket, 1);
    this.#add(where.start + where.bounds.length + 1, bytes);
    this.#add(where.start + where.bounds.length + 2, 1);
  }

  #add(index: number, by: number): void {
    this.#cells[index] = (this.#cells[index] ?? 0) + by;
  }
}

/** Counts per bucket; the last one is unbounded. */
export interface Histogram {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

/** The sums over all threads. */
export interface DnsStats {
  readonly requests: readonly {
    readonly protocol: 'udp' | 'tcp';
    /** 1: IPv4, 2: IPv6, as CoreDNS labels them. */
    readonly family: '1' | '2';
    /** As on the wire; 0: types without a counter of their own. */
    readonly type: number;
    readonly count: number;
  }[];
  readonly responses: readonly { readonly rcode: number; readonly count: number }[];
  readonly requestSizes: Readonly<Record<'udp' | 'tcp', Histogram>>;
  readonly responseSizes: Readonly<Record<'udp' | 'tcp', Histogram>>;
  readonly durations: Readonly<Record<'udp' | 'tcp', Histogram>>;
  readonly totals: Readonly<Record<SingleCounter, number>>;
}

/** Adds up the counters of several threads. */
export function readCounters(buffers: readonly SharedArrayBuffer[]): DnsStats {
  const sums = new Float64Array(end);
  for (const buffer of buffers) {
    const cells = new Float64Array(buffer);
    for (let index = 0; index < end; index++) sums[index] = (sums[index] ?? 0) + (cells[index] ?? 0);
  }
  const get = (index: number): number => sums[index] ?? 0;
  const readHistogram = ({ start, bounds }: HistogramAt): Histogram => ({
    bounds,
    counts: Array.from(sums.subarray(start, start + bounds.length + 1)),
    sum: get(start + bounds.length + 1),
    count: get(start + bounds.length + 2),
  });
  const both = ([udp, tcp]: readonly HistogramAt[]): Record<'udp' | 'tcp', Histogram> => {
    if (udp === undefined || tcp === undefined) throw new Error('bug: a histogram without both protocols');
    return { udp: readHistogram(udp), tcp: readHistogram(tcp) };
  };
  const requests = protocols.flatMap((protocol, first) =>
    clientFamilies.flatMap((family, second) =>
      Array.from({ length: countedTypes }, (_, type) => {
        const count = get(at.requests + (first * 2 + second) * countedTypes + type);
        return { protocol, family, type, count };
      }).filter(({ count }) => count > 0),
    ),
  );
  return {
    requests,
    responses: Array.from({ length: countedRcodes }, (_, rcode) => ({
      rcode,
      count: get(at.responses + rcode),
    })).filter(({ count }) => count > 0),
    requestSizes: both(at.requestSizes),
    responseSizes: both(at.responseSizes),
    durations: both(at.durations),
    // A cast: Object.fromEntries loses the key types.
    totals: Object.fromEntries(single.map((name, index) => [name, get(at.single + index)])) as Record<
      SingleCounter,
      number
    >,
  };
}
