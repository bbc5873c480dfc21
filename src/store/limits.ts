import { getHeapStatistics } from 'node:v8';

/** Limits of a store and its values. */
export interface StoreLimits {
  /** The maximum size of a value in bytes; default 1.5 MiB, as in etcd. */
  readonly maxValueBytes?: number | undefined;
  /** The maximum bytes of keys and values in memory, history included; default: see `effectiveQuota`. */
  readonly quotaBytes?: number | undefined;
}

/** The maximum number of keys in one commit: what fits into a transaction of etcd, beside the keys of the store itself. */
export const maxWrites = 125;

/** etcd's `--max-request-bytes`. */
export const defaultMaxValueBytes = 1.5 * 1024 * 1024;

/** etcd's `--quota-backend-bytes`. */
export const defaultQuotaBytes = 2 * 1024 * 1024 * 1024;

/** The part of the quota for history; stores drop older revisions. */
export const historyShare = 1 / 8;

/** The rest is for objects around small values, requests in flight and everything else in the process. */
const heapShare = 1 / 4;

/** The quota of each of `stores` stores in this process: the requested one, limited by the V8 heap. */
export function effectiveQuota(
  requested: number = defaultQuotaBytes,
  { stores = 1, heapBytes = getHeapStatistics().heap_size_limit } = {},
): number {
  return Math.floor(Math.min(requested, (heapBytes * heapShare) / stores));
}
