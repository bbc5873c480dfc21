// Which source clusters are alive, by what was seen of their leases and when, on a clock of our own (MCS-87).

/** What was last seen of the lease of a source. */
export interface Sighting {
  /** What tells one renewal from another; undefined: there is no lease. */
  readonly renewal: string | undefined;
  /** When it was first seen so, on the clock that never jumps. */
  readonly atMs: number;
  /** How long a renewal is good for. */
  readonly durationMs: number;
}

/** Source → its sighting. */
export type Sightings = ReadonlyMap<string, Sighting>;

/** What is there of a source now. */
export interface SourceLease {
  readonly renewal: string | undefined;
  readonly durationMs: number;
}

/**
 * The sightings after a look. What has not changed is as old as before; what is new has its full time (sheet 5.5). When a
 * controller renews leases again after it was late, every source has its full time: nobody could renew them meanwhile.
 */
export function look(before: Sightings, leases: ReadonlyMap<string, SourceLease>, nowMs: number): Sightings {
  const after = new Map(
    Array.from(leases, ([source, lease]): [string, Sighting] => {
      const known = before.get(source);
      const isSame = known !== undefined && known.renewal === lease.renewal;
      return [source, { ...lease, atMs: isSame ? known.atMs : nowMs }];
    }),
  );
  const wasLate = controllerState(before, nowMs) !== 'healthy';
  return wasLate && controllerState(after, nowMs) === 'healthy' ? withFullTime(after, nowMs) : after;
}

/** The sightings when nothing could be seen for a while: what was not renewed meanwhile may not have been able to. */
export const withFullTime = (before: Sightings, nowMs: number): Sightings =>
  new Map(Array.from(before, ([source, sighting]) => [source, { ...sighting, atMs: nowMs }]));

/** What to do about a source. */
export interface Judgement {
  readonly source: string;
  /** `suspect`: late. `expired`: later than its lease allows. */
  readonly state: 'healthy' | 'suspect' | 'expired';
  /** Its slices are to go. */
  readonly isRemoved: boolean;
  /** Why they are not although it expired, or that they are. */
  readonly why: string;
}

export interface ReaperPolicy {
  /** The id of the cluster that the reaper is in, if it is known. */
  readonly own?: string | undefined;
  /** What to do when the controller is lost, rather than a source; default Remove, as KEP-1645 has it. */
  readonly onControllerLoss?: 'Remove' | 'Freeze' | undefined;
  /** How long Freeze keeps everything as it is; default for good. */
  readonly freezeMs?: number | undefined;
}

/** A source is late when this much of its time has passed. */
const suspectShare = 2 / 3;

/** Fewer sources than this can be lost together without being strange. */
const leastForBrake = 3;

/** Judges all sources. Healthy ones are untouched by the loss of others (MCS-88). */
export function judge(sightings: Sightings, policy: ReaperPolicy, nowMs: number): readonly Judgement[] {
  const others = [...sightings].filter(([source]) => source !== policy.own);
  const expired = others.filter(([, sighting]) => stateOf(sighting, nowMs) === 'expired');
  const controller = controllerState(sightings, nowMs);
  const isControllerLost = controller === 'expired' && (policy.own !== undefined || sightings.size > 1);
  const isStrange = !isControllerLost && expired.length >= leastForBrake && expired.length * 2 > others.length;
  return Array.from(sightings, ([source, sighting]): Judgement => {
    const state = stateOf(sighting, nowMs);
    if (state !== 'expired') return { source, state, isRemoved: false, why: '' };
    const keep = (why: string): Judgement => ({ source, state, isRemoved: false, why });
    if (source === policy.own) return keep('these endpoints are of this cluster, and need no connection');
    if (controller === 'suspect') return keep('the controller is late too: it may be lost, and not the source');
    const overdueMs = nowMs - sighting.atMs - sighting.durationMs;
    if (isControllerLost && policy.onControllerLoss === 'Freeze' && overdueMs < (policy.freezeMs ?? Infinity)) {
      return keep('the controller is lost: everything stays as it is');
    }
    // The controller itself may be cut off from most: give it as long again.
    if (isStrange && overdueMs < sighting.durationMs)
      return keep('too many sources are lost at once: waiting as long again');
    return { source, state, isRemoved: true, why: isControllerLost ? 'the controller is lost' : 'the source is lost' };
  });
}

function stateOf({ atMs, durationMs }: Sighting, nowMs: number): Judgement['state'] {
  const ageMs = nowMs - atMs;
  if (ageMs > durationMs) return 'expired';
  return ageMs > durationMs * suspectShare ? 'suspect' : 'healthy';
}

/** A controller is there for as long as it renews any lease; that of the cluster in itself needs no other cluster. */
function controllerState(sightings: Sightings, nowMs: number): Judgement['state'] {
  const leases = [...sightings.values()].filter(({ renewal }) => renewal !== undefined);
  const states = leases.map((each) => stateOf(each, nowMs));
  return states.find((state) => state === 'healthy') ?? states.find((state) => state === 'suspect') ?? 'expired';
}
