import { age, column, nameColumn } from '../../../columns.ts';
import type { Column } from '../../../kind.ts';
import type { Event } from './schema.ts';

const firstSeen = (event: Event, now: number): string => age(event.firstTimestamp || event.eventTime || undefined, now);

function lastSeen(event: Event, now: number): string {
  if (event.series !== undefined) return age(event.series.lastObservedTime, now);
  return event.lastTimestamp ? age(event.lastTimestamp, now) : firstSeen(event, now);
}

function subject({ involvedObject: { kind = '', name = '' } }: Event): string {
  return name === '' ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`;
}

function reporter({ source, reportingComponent, reportingInstance }: Event): string {
  const component = source.component ?? reportingComponent;
  const instance = source.host ?? reportingInstance;
  return instance === '' ? component : `${component}, ${instance}`;
}

/** How `kubectl get events` shows an event, in either of its versions. */
export const eventColumns: readonly Column<Event>[] = [
  column('Last Seen', 'How long ago it was last seen.', lastSeen),
  column('Type', 'Normal or Warning.', ({ type }) => type ?? ''),
  column('Reason', 'Why, in one word.', ({ reason }) => reason ?? ''),
  column('Object', 'The object it happened to.', subject),
  column('Subobject', 'The part of the object.', ({ involvedObject }) => involvedObject.fieldPath ?? '', {
    wide: true,
  }),
  column('Source', 'Who reported it.', reporter, { wide: true }),
  column('Message', 'What happened.', ({ message }) => (message ?? '').trim()),
  column('First Seen', 'How long ago it was first seen.', firstSeen, { wide: true }),
  column('Count', 'How often it was seen.', ({ series, count }) => (series ? (series.count ?? 0) : (count ?? 1)), {
    wide: true,
  }),
  { ...nameColumn, priority: 1 },
];
