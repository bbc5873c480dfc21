import { readFileSync } from 'node:fs';

/**
 * How many descriptors (files, sockets) this process may have open; undefined where that cannot be read. Node raises the
 * soft limit to the hard one when it starts, so both are the same.
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
 * What a process keeps for its files, threads and own connections. Measured at rest: 27, and 23 for each cluster of `up`.
 * The rest is for what comes and goes: files that are replaced, probes, connections to upstreams and other clusters.
 */
const reserve = { process: 96, cluster: 40 } as const;

/** What clients of a part can make it open, as shares of what is left. What runs alone has nearly all of it. */
const shares = { server: 0.35, dns: 0.15, proxy: 0.45, alone: 0.95 } as const;

/** The least that the parts of one cluster can serve anything with. */
const leastPerCluster = 160;

/** Descriptors without which nothing is started. */
export const descriptorsNeeded = (clusters: number): number =>
  reserve.process + clusters * (reserve.cluster + leastPerCluster);

/** Descriptors that clients of a part may take in one of so many clusters; infinite where the limit is not known. */
export function descriptorShare(part: keyof typeof shares, clusters = 1, limit = descriptorLimit()): number {
  if (limit === undefined) return Infinity;
  const left = limit - reserve.process - clusters * reserve.cluster;
  return Math.max(0, Math.floor((left * shares[part]) / clusters));
}
