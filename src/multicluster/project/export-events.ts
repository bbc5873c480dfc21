// The Events of exports. Their reasons are stable and listed in docs/reference/conditions-and-events.md.
import type { PlannedEvent } from '../../client/event-correlator.ts';
import type { Dropped } from '../guard/policy.ts';
import { listText } from '../merge/conflict.ts';
import type { Delivery } from './export-conditions.ts';
import type { ExistingCondition } from './conditions.ts';

/** The Events for changed conditions of an export. */
export function exportEvents(
  before: readonly ExistingCondition[],
  after: readonly ExistingCondition[],
  deliveries: readonly Delivery[],
): readonly PlannedEvent[] {
  const previous = new Map(before.map((condition) => [condition.type, condition]));
  const isRefused = after.some((each) => isAcceptance(each) && each.status === 'False' && each.reason !== 'Pending');
  const events = after.flatMap((condition): readonly PlannedEvent[] => {
    const last = previous.get(condition.type);
    if (last?.status === condition.status && last.message === condition.message) return [];
    if (isAcceptance(condition)) return acceptanceEvents(condition, last);
    if (condition.type === 'Conflict') return conflictEvents(condition, last);
    // The refusal has its own Event.
    return isComplete(condition) && !isRefused ? progressEvents(condition, deliveries) : [];
  });
  // Two conditions can have the same reason and message.
  return [...new Map(events.map((event) => [`${event.reason} ${event.message}`, event])).values()];
}

const isAcceptance = ({ type }: ExistingCondition): boolean => type === 'Initialized' || type === 'Valid';
const isComplete = ({ type }: ExistingCondition): boolean => type === 'Exported' || type === 'Ready';

function acceptanceEvents(
  { status, reason = '', message = '' }: ExistingCondition,
  last: ExistingCondition | undefined,
): readonly PlannedEvent[] {
  if (status === 'True') return last?.status === 'True' ? [] : [{ type: 'Normal', reason, message }];
  return reason === 'Pending' ? [] : [{ type: 'Warning', reason, message }];
}

function conflictEvents(
  { status, message = '' }: ExistingCondition,
  last: ExistingCondition | undefined,
): readonly PlannedEvent[] {
  if (status === 'True') return [{ type: 'Warning', reason: 'Conflict', message }];
  return last?.status === 'True' ? [{ type: 'Normal', reason: 'ConflictResolved', message }] : [];
}

function progressEvents(
  { status, reason = '', message = '' }: ExistingCondition,
  deliveries: readonly Delivery[],
): readonly PlannedEvent[] {
  if (reason === 'Conflict') return [{ type: 'Warning', reason: 'Withdrawn', message }];
  if (reason === 'Quarantined' || reason === 'NoIngressAddress') return [{ type: 'Warning', reason, message }];
  const gaps = gapEvents(deliveries);
  if (gaps.length > 0) return gaps;
  // No Event while a service is being delivered.
  return status === 'True' ? [{ type: 'Normal', reason: 'Exported', message }] : [];
}

/** Events for clusters that cannot get the service at the moment. */
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
  reason === 'NoAddress'
    ? 'NoFreeAddress'
    : reason === 'FamilyNotSupported'
      ? 'IPFamilyNotSupported'
      : reason === 'UnknownMember' || reason === 'NoGateway'
        ? reason
        : 'ImportRefused';

/** Dropped items that an Event names. */
const maxNamed = 5;

/** The Events for dropped endpoints and metadata of an export; see guard/. */
export function droppedEvents(dropped: readonly Dropped[]): readonly PlannedEvent[] {
  const endpoints = dropped.filter(({ what }) => what === 'endpoint' || what === 'slice');
  const metadata = dropped.filter(({ what }) => what === 'label' || what === 'annotation');
  return [...droppedEvent('EndpointsDropped', endpoints), ...droppedEvent('MetadataDropped', metadata)];
}

function droppedEvent(reason: string, dropped: readonly Dropped[]): readonly PlannedEvent[] {
  if (dropped.length === 0) return [];
  const named = dropped.slice(0, maxNamed).map(({ message }) => message);
  const more = dropped.length > named.length ? `; and ${dropped.length - named.length} more` : '';
  return [{ type: 'Warning', reason, message: `left out: ${named.join('; ')}${more}` }];
}
