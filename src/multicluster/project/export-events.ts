// What happens to an export, for `kubectl describe`: Events with reasons that stay as they are, listed in docs/reference/conditions-and-events.md.
import type { PlannedEvent } from '../../client/event-correlator.ts';
import type { Dropped } from '../guard/policy.ts';
import { listText } from '../merge/conflict.ts';
import type { Delivery } from './export-conditions.ts';
import type { ReadCondition } from './statement.ts';

/** What is told when the conditions of an export change: what is as it was is not told again. */
export function exportEvents(
  before: readonly ReadCondition[],
  after: readonly ReadCondition[],
  deliveries: readonly Delivery[],
): readonly PlannedEvent[] {
  const told = new Map(before.map((condition) => [condition.type, condition]));
  const isRefused = after.some((each) => isTakenUp(each) && each.status === 'False' && each.reason !== 'Pending');
  const events = after.flatMap((condition): readonly PlannedEvent[] => {
    const last = told.get(condition.type);
    if (last?.status === condition.status && last.message === condition.message) return [];
    if (isTakenUp(condition)) return takenUpEvents(condition, last);
    if (condition.type === 'Conflict') return conflictEvents(condition, last);
    // Why it is refused is said already.
    return isComplete(condition) && !isRefused ? progressEvents(condition, deliveries) : [];
  });
  // Two conditions may say the same.
  return [...new Map(events.map((event) => [`${event.reason} ${event.message}`, event])).values()];
}

const isTakenUp = ({ type }: ReadCondition): boolean => type === 'Initialized' || type === 'Valid';
const isComplete = ({ type }: ReadCondition): boolean => type === 'Exported' || type === 'Ready';

function takenUpEvents(
  { status, reason = '', message = '' }: ReadCondition,
  last: ReadCondition | undefined,
): readonly PlannedEvent[] {
  if (status === 'True') return last?.status === 'True' ? [] : [{ type: 'Normal', reason, message }];
  return reason === 'Pending' ? [] : [{ type: 'Warning', reason, message }];
}

function conflictEvents(
  { status, message = '' }: ReadCondition,
  last: ReadCondition | undefined,
): readonly PlannedEvent[] {
  if (status === 'True') return [{ type: 'Warning', reason: 'Conflict', message }];
  return last?.status === 'True' ? [{ type: 'Normal', reason: 'ConflictResolved', message }] : [];
}

function progressEvents(
  { status, reason = '', message = '' }: ReadCondition,
  deliveries: readonly Delivery[],
): readonly PlannedEvent[] {
  if (reason === 'Conflict') return [{ type: 'Warning', reason: 'Withdrawn', message }];
  if (reason === 'Quarantined') return [{ type: 'Warning', reason, message }];
  const gaps = gapEvents(deliveries);
  if (gaps.length > 0) return gaps;
  // A service that is on its way is nothing to tell of.
  return status === 'True' ? [{ type: 'Normal', reason: 'Exported', message }] : [];
}

/** Clusters that do not have the service, and will not by themselves. */
function gapEvents(deliveries: readonly Delivery[]): readonly PlannedEvent[] {
  const unreachable = deliveries.filter(({ state }) => state === 'unreachable').map(({ cluster }) => cluster);
  const lost: readonly PlannedEvent[] =
    unreachable.length === 0
      ? []
      : [{ type: 'Warning', reason: 'ClusterUnreachable', message: `cannot reach ${listText(unreachable)}` }];
  const others = deliveries.flatMap(({ cluster, state, error, refusal }): readonly PlannedEvent[] => {
    if (state === 'refused') {
      const message = refusal?.message ?? `cluster ${cluster} refuses the service`;
      return [{ type: 'Warning', reason: refusalReason(refusal?.reason), message }];
    }
    if (state !== 'pending' || error === undefined) return [];
    return [{ type: 'Warning', reason: 'ClusterLagging', message: `cluster ${cluster} rejects the import: ${error}` }];
  });
  return [...lost, ...others];
}

const refusalReason = (reason: NonNullable<Delivery['refusal']>['reason'] | undefined): string =>
  reason === 'NoAddress' ? 'NoFreeAddress' : reason === 'FamilyNotSupported' ? 'IPFamilyNotSupported' : 'ImportRefused';

/** Of so many things that are left out it is said which. */
const mostNamed = 5;

/** What of a cluster is left out of a service; see guard/. */
export function droppedEvents(dropped: readonly Dropped[]): readonly PlannedEvent[] {
  const endpoints = dropped.filter(({ what }) => what === 'endpoint' || what === 'slice');
  const metadata = dropped.filter(({ what }) => what === 'label' || what === 'annotation');
  return [...droppedEvent('EndpointsDropped', endpoints), ...droppedEvent('MetadataDropped', metadata)];
}

function droppedEvent(reason: string, dropped: readonly Dropped[]): readonly PlannedEvent[] {
  if (dropped.length === 0) return [];
  const named = dropped.slice(0, mostNamed).map(({ message }) => message);
  const more = dropped.length > named.length ? `; and ${dropped.length - named.length} more` : '';
  return [{ type: 'Warning', reason, message: `left out: ${named.join('; ')}${more}` }];
}
