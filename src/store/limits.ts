import { getHeapStatistics } from 'node:v8';

/** How large a store and its values may become. */
export interface StoreLimits {
  /** The largest value in bytes; default 1.5 MiB, as in etcd. */
  readonly maxValueBytes?: number | undefined;
  /** Bytes of keys and values in memory, kept history included; default: see `quotaWithin`. */
  readonly quotaBytes?: number | undefined;
}

/** etcd's `--max-request-bytes`. */
export const defaultMaxValueBytes = 1.5 * 1024 * 1024;

/** etcd's `--quota-backend-bytes`. */
export const defaultQuotaBytes = 2 * 1024 * 1024 * 1024;

/** Objects and trees around small values, requests in flight and everything else in the process need the rest. */
const heapShare = 1 / 4;

/** The quota of each of `stores` stores in this process: what was asked for, lowered to what the V8 heap can hold. */
export function quotaWithin(
  asked: number = defaultQuotaBytes,
  { stores = 1, heapBytes = getHeapStatistics().heap_size_limit } = {},
): number {
  return Math.floor(Math.min(asked, (heapBytes * heapShare) / stores));
}
