/** How much of the machine the listeners may take. */
export interface UserspaceLimits {
  /** TCP connections, each two descriptors. One more is reset. Default: 20,000. */
  readonly connections: number;
  /** TCP connections of one virtual address, so that it cannot take them all. Default: 10,000. */
  readonly connectionsPerAddress: number;
  /** Addresses and ports with a listener, each a descriptor; namespaces share them evenly. Default: as many as asked for. */
  readonly listeners: number;
  /** UDP flows, each a descriptor; the one idle longest gives way. Default: 8,192. */
  readonly udpFlows: number;
  /** A UDP flow without a packet either way is forgotten after so long. Default: a minute. */
  readonly udpIdleMs: number;
  /** Clients that are remembered for session affinity; the one away longest is forgotten. Default: 262,144. */
  readonly pins: number;
}

export const defaultLimits: UserspaceLimits = {
  connections: 20_000,
  connectionsPerAddress: 10_000,
  listeners: Infinity,
  udpFlows: 8192,
  udpIdleMs: 60_000,
  pins: 262_144,
};

/** Limits within so many descriptors; what is left is for health checks. */
export function limitsWithin(descriptors: number, given: Partial<UserspaceLimits> = {}): UserspaceLimits {
  const most = (share: number, each: number): number => Math.max(4, Math.floor((descriptors * share) / each));
  const wanted = { ...defaultLimits, ...given };
  const connections = Math.min(wanted.connections, most(0.42, 2));
  return {
    ...wanted,
    connections,
    connectionsPerAddress: Math.min(wanted.connectionsPerAddress, Math.ceil(connections / 2)),
    listeners: Math.min(wanted.listeners, most(0.35, 1)),
    udpFlows: Math.min(wanted.udpFlows, most(0.14, 1)),
  };
}

/** How routes are served by listeners. */
export interface UserspaceOptions {
  readonly limits?: Partial<UserspaceLimits>;
  /** Descriptors that all of it may take: no limit above is higher than these allow. Default: no bound. */
  readonly descriptors?: number;
  /**
   * What moves bytes: `native`, the system's own calls from threads beside the event loop, or `node`, Node's sockets on it.
   * Default: native where it can be had.
   */
  readonly engine?: 'native' | 'node';
  /** Threads that move bytes, of the native engine. Default: 1. */
  readonly threads?: number;
  /** How long connections may go on when it stops. Default: 1 s. */
  readonly drainMs?: number;
}

/** How long a target has to answer, by how many did not before; the last that can be tried has the last of these. */
export const dialTimeoutsMs = [250, 500, 1000, 5000] as const;

/** How long one attempt may take. */
export const dialTimeoutMs = (failures: number, isLast: boolean): number =>
  (isLast ? dialTimeoutsMs.at(-1) : dialTimeoutsMs[failures]) ?? dialTimeoutsMs[3];
