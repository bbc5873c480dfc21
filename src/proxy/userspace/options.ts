/** Limits on the resources of all listeners. */
export interface UserspaceLimits {
  /** TCP connections, with two descriptors each. Further ones are reset. Default: 20,000. */
  readonly connections: number;
  /** TCP connections of one virtual address. Default: 10,000. */
  readonly connectionsPerAddress: number;
  /** Listeners, with one descriptor each; namespaces share them evenly. Default: no limit. */
  readonly listeners: number;
  /** UDP flows, with one descriptor each; a further one replaces the flow that was idle longest. Default: 8,192. */
  readonly udpFlows: number;
  /** A UDP flow ends after this time without a datagram in either direction. Default: a minute. */
  readonly udpIdleMs: number;
  /** Entries of the affinity table; a further one replaces the least recently used. Default: 262,144. */
  readonly affinityEntries: number;
}

export const defaultLimits: UserspaceLimits = {
  connections: 20_000,
  connectionsPerAddress: 10_000,
  listeners: Infinity,
  udpFlows: 8192,
  udpIdleMs: 60_000,
  affinityEntries: 262_144,
};

/** Lowers limits to fit into a number of descriptors; the rest is for health checks. */
export function limitsWithin(descriptors: number, given: Partial<UserspaceLimits> = {}): UserspaceLimits {
  const affordable = (share: number, each: number): number => Math.max(4, Math.floor((descriptors * share) / each));
  const wanted = { ...defaultLimits, ...given };
  const connections = Math.min(wanted.connections, affordable(0.42, 2));
  return {
    ...wanted,
    connections,
    connectionsPerAddress: Math.min(wanted.connectionsPerAddress, Math.ceil(connections / 2)),
    listeners: Math.min(wanted.listeners, affordable(0.35, 1)),
    udpFlows: Math.min(wanted.udpFlows, affordable(0.14, 1)),
  };
}

/** How routes are served by listeners. */
export interface UserspaceOptions {
  readonly limits?: Partial<UserspaceLimits>;
  /** Descriptors for all listeners, connections and flows; limits are lowered to fit. Default: no limit. */
  readonly descriptors?: number;
  /**
   * What relays bytes: `native`, system calls in threads beside the event loop, or `node`, Node's sockets on the event loop.
   * Default: native where it is available.
   */
  readonly engine?: 'native' | 'node';
  /** Threads of the native engine. Default: 1. */
  readonly threads?: number;
  /** How long connections may continue when the proxy stops. Default: 1 s. */
  readonly drainMs?: number;
}

/** Dial timeout by the number of targets that failed before; the last target that can be tried has the last of these. */
export const dialTimeoutsMs = [250, 500, 1000, 5000] as const;

/** The timeout of one dial. */
export const dialTimeoutMs = (failures: number, isLast: boolean): number =>
  (isLast ? dialTimeoutsMs.at(-1) : dialTimeoutsMs[failures]) ?? dialTimeoutsMs[3];
