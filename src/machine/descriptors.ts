import { readFileSync } from 'node:fs';

/**
 * The limit of open descriptors (files, sockets) of this process; undefined if unknown. Node raises the soft limit to the
 * hard one at its start, so both are equal.
 */
export function descriptorLimit(): number | undefined {
  try {
    const text = readFileSync('/proc/self/limits', 'utf8');
    const limit = Number(/^Max open files\s+(\d+)/m.exec(text)?.[1]);
    return Number.isFinite(limit) ? limit : undefined;
  } catch {
    return undefined; // not Linux
  }
}

/**
 * Descriptors reserved for files, threads and own connections. Measured at rest: 27, and 23 per cluster of `up`. The rest
 * is for temporary ones: replaced files, probes, connections to upstreams and other clusters.
 */
const reserve = { process: 96, cluster: 40 } as const;

/** The shares of the remaining descriptors that clients of a part may use; `alone`: a part that runs alone. */
const shares = { server: 0.35, dns: 0.15, proxy: 0.45, alone: 0.95 } as const;

/** The minimum with which the parts of one cluster can work. */
const leastPerCluster = 160;

/** The minimum number of descriptors to start. */
export const descriptorsNeeded = (clusters: number): number =>
  reserve.process + clusters * (reserve.cluster + leastPerCluster);

/** Descriptors that clients of a part may use in one of `clusters`; infinite if the limit is unknown. */
export function descriptorShare(part: keyof typeof shares, clusters = 1, limit = descriptorLimit()): number {
  if (limit === undefined) return Infinity;
  const left = limit - reserve.process - clusters * reserve.cluster;
  return Math.max(0, Math.floor((left * shares[part]) / clusters));
}
