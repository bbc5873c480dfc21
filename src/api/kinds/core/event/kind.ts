import { age, column, nameColumn } from '../../../columns.ts';
import type { Column, Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import type { Event } from './schema.ts';
import { event } from './schema.ts';
import type { ApiObject } from '../../../metadata.ts';
import { pathSegmentName } from '../../../names.ts';
import { eventErrors } from './validate.ts';

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

/** Columns of both API versions of Events. */
export const eventColumns: readonly Column<Event>[] = [
  column('Last Seen', 'Time since it was last observed.', lastSeen),
  column('Type', 'Normal or Warning.', ({ type }) => type ?? ''),
  column('Reason', 'Reason, as one CamelCase word.', ({ reason }) => reason ?? ''),
  column('Object', 'The object of the event.', subject),
  column('Subobject', 'The part of the object.', ({ involvedObject }) => involvedObject.fieldPath ?? '', {
    wide: true,
  }),
  column('Source', 'The component that reported it.', reporter, { wide: true }),
  column('Message', 'Description of the event.', ({ message }) => (message ?? '').trim()),
  column('First Seen', 'Time since it was first observed.', firstSeen, { wide: true }),
  column('Count', 'Number of occurrences.', ({ series, count }) => (series ? (series.count ?? 0) : (count ?? 1)), {
    wide: true,
  }),
  { ...nameColumn, priority: 1 },
];

const referencedFields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'] as const;

/** The selectable fields of the object that an Event of either version is about. */
export const referenceFields = <T extends ApiObject>(
  field: string,
  referenceOf: (event: T) => Event['involvedObject'],
): Kind<T>['selectableFields'] =>
  Object.fromEntries(
    referencedFields.map((each) => [`${field}.${each}`, (event: T) => referenceOf(event)[each] ?? '']),
  );

export const eventKind = defineKind<Event>({
  group: '',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  shortNames: ['ev'],
  namespaced: true,
  schema: event,
  quota: 'none',
  ttlSeconds: 3600,
  createOnUpdate: true,
  columns: eventColumns,
  selectableFields: {
    ...referenceFields('involvedObject', ({ involvedObject }: Event) => involvedObject),
    reason: ({ reason }) => reason ?? '',
    reportingComponent: ({ reportingComponent }) => reportingComponent,
    source: ({ source, reportingComponent }) => source.component ?? reportingComponent,
    type: ({ type }) => type ?? '',
  },
  // Kubernetes accepts any name that is valid in a URL path.
  nameErrors: pathSegmentName,
  validateCreate: (object) => eventErrors(object, 'reportingComponent'),
  validateUpdate: (object) => eventErrors(object, 'reportingComponent'),
});
