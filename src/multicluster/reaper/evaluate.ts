// Decides which source clusters are lost, from when their leases were seen to change on the local clock (MCS-87).

/** The last observed change of the lease of a source. */
export interface LeaseObservation {
  /** The resourceVersion of the lease; undefined: there is no lease. */
  readonly revision: string | undefined;
  /** When this revision was first seen, on the monotonic clock. */
  readonly observedAtMs: number;
  /** How long a renewal is valid. */
  readonly durationMs: number;
}

/** Source → its last observation. */
export type LeaseObservations = ReadonlyMap<string, LeaseObservation>;

/** The lease of a source now. */
export interface SourceLease {
  readonly revision: string | undefined;
  readonly durationMs: number;
}

/**
 * Adds the current leases to the observations. An unchanged lease keeps its age; a changed or new one starts again. When
 * a controller renews leases again after it was late, all leases start again: none could be renewed in the meantime.
 */
export function observe(
  before: LeaseObservations,
  leases: ReadonlyMap<string, SourceLease>,
  nowMs: number,
): LeaseObservations {
  const after = new Map(
    Array.from(leases, ([source, lease]): [string, LeaseObservation] => {
      const known = before.get(source);
      const isSame = known !== undefined && known.revision === lease.revision;
      return [source, { ...lease, observedAtMs: isSame ? known.observedAtMs : nowMs }];
    }),
  );
  const wasLate = controllerState(before, nowMs) !== 'healthy';
  return wasLate && controllerState(after, nowMs) === 'healthy' ? restartTimers(after, nowMs) : after;
}

/** Restarts all leases, after a time in which renewals could not be observed. */
export const restartTimers = (before: LeaseObservations, nowMs: number): LeaseObservations =>
  new Map(Array.from(before, ([source, observation]) => [source, { ...observation, observedAtMs: nowMs }]));

/** The state of a source, and whether its slices are deleted. */
export interface SourceStatus {
  readonly source: string;
  /** `suspect`: two thirds of the lease duration have passed without a renewal. `expired`: all of it. */
  readonly state: 'healthy' | 'suspect' | 'expired';
  /** Its slices are to be deleted. */
  readonly isRemoved: boolean;
  /** Why the slices of an expired source are deleted or kept. */
  readonly reason: string;
}

export interface ReaperPolicy {
  /** The id of the reaper's own cluster, if known. */
  readonly own?: string | undefined;
  /** What to do when all leases expire, which means the controller is lost; default Remove, as in KEP-1645. */
  readonly onControllerLoss?: 'Remove' | 'Freeze' | undefined;
  /** How long Freeze keeps the slices; default forever. */
  readonly freezeMs?: number | undefined;
}

/** The share of the lease duration after which a source is suspect. */
const suspectShare = 2 / 3;

/** Fewer sources that expire together do not count as a mass expiry. */
const massExpiryMin = 3;

/** Evaluates all sources. A healthy source is not affected by the expiry of others (MCS-88). */
export function evaluateSources(
  observations: LeaseObservations,
  policy: ReaperPolicy,
  nowMs: number,
): readonly SourceStatus[] {
  const others = [...observations].filter(([source]) => source !== policy.own);
  const expired = others.filter(([, observation]) => stateOf(observation, nowMs) === 'expired');
  const controller = controllerState(observations, nowMs);
  const isControllerLost = controller === 'expired' && (policy.own !== undefined || observations.size > 1);
  const isMassExpiry = !isControllerLost && expired.length >= massExpiryMin && expired.length * 2 > others.length;
  return Array.from(observations, ([source, observation]): SourceStatus => {
    const state = stateOf(observation, nowMs);
    if (state !== 'expired') return { source, state, isRemoved: false, reason: '' };
    const keep = (reason: string): SourceStatus => ({ source, state, isRemoved: false, reason });
    if (source === policy.own) return keep('the endpoints are in this cluster');
    if (controller === 'suspect') return keep('the controller is late too and may be lost instead');
    const overdueMs = nowMs - observation.observedAtMs - observation.durationMs;
    if (isControllerLost && policy.onControllerLoss === 'Freeze' && overdueMs < (policy.freezeMs ?? Infinity)) {
      return keep('the controller is lost and --on-controller-loss is Freeze');
    }
    // The controller may have lost its connection to most clusters: wait for a second lease duration.
    if (isMassExpiry && overdueMs < observation.durationMs)
      return keep('most sources expired at once: waiting for a second lease duration');
    return {
      source,
      state,
      isRemoved: true,
      reason: isControllerLost ? 'the controller is lost' : 'the source is lost',
    };
  });
}

function stateOf({ observedAtMs, durationMs }: LeaseObservation, nowMs: number): SourceStatus['state'] {
  const ageMs = nowMs - observedAtMs;
  if (ageMs > durationMs) return 'expired';
  return ageMs > durationMs * suspectShare ? 'suspect' : 'healthy';
}

/** The controller is healthy while it renews any lease, such as the one of the own cluster. */
function controllerState(observations: LeaseObservations, nowMs: number): SourceStatus['state'] {
  const leases = [...observations.values()].filter(({ revision }) => revision !== undefined);
  const states = leases.map((each) => stateOf(each, nowMs));
  return states.find((state) => state === 'healthy') ?? states.find((state) => state === 'suspect') ?? 'expired';
}
