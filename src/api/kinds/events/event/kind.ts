import { isDeepStrictEqual } from 'node:util';

import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, required } from '../../../field-errors.ts';
import type { Event } from '../../core/event/schema.ts';
import type { Column } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { eventColumns, eventKind, referenceFields } from '../../core/event/kind.ts';
import { eventErrors } from '../../core/event/validate.ts';
import { fromCore, toCore } from './convert.ts';
import type { EventsEvent } from './schema.ts';
import { event } from './schema.ts';

export const eventsEventKind = defineKind<EventsEvent>({
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  shortNames: ['ev'],
  namespaced: true,
  schema: event,
  createOnUpdate: true,
  columns: eventColumns.map((column): Column<EventsEvent> => ({
    ...column,
    cell: (object, now) => column.cell(toCore(object), now),
  })),
  selectableFields: {
    ...referenceFields('regarding', ({ regarding }: EventsEvent) => regarding),
    reason: ({ reason }) => reason ?? '',
    reportingController: ({ reportingController }) => reportingController ?? '',
    type: ({ type }) => type ?? '',
  },
  storage: {
    kind: eventKind,
    toStorage: toCore,
    // Objects under the keys of core Events have passed that schema.
    fromStorage: (object) => fromCore(object as Event),
  },
  validateCreate: (object) => createErrors(toCore(object)),
  validateUpdate: (object, old) => updateErrors(toCore(object), toCore(old)),
});

// Paths are those of the core Event, as in Kubernetes, which validates both versions in that form.
function createErrors(event: Event): readonly FieldError[] {
  const errors = [...eventErrors(event, 'reportingController'), ...seriesErrors(event)];
  if (!event.eventTime) errors.push(required('eventTime'));
  if (event.type !== 'Normal' && event.type !== 'Warning') {
    errors.push(invalidValue('type', '', `has invalid value: ${event.type ?? ''}`));
  }
  const old = {
    firstTimestamp: event.firstTimestamp,
    lastTimestamp: event.lastTimestamp,
    count: event.count,
    source: event.source.component ?? event.source.host,
  };
  for (const [path, value] of Object.entries(old)) if (value) errors.push(invalidValue(path, '', 'needs to be unset'));
  return errors;
}

function updateErrors(event: Event, old: Event): readonly FieldError[] {
  const isSeriesNew = JSON.stringify(event.series) !== JSON.stringify(old.series);
  return [
    ...eventErrors(event, 'reportingController'),
    ...(isSeriesNew ? seriesErrors(event) : []),
    ...immutableFieldErrors(event, old),
  ];
}

function seriesErrors({ series }: Event): readonly FieldError[] {
  if (series === undefined) return [];
  return [
    ...((series.count ?? 0) < 2 ? [invalidValue('series.count', '', 'should be at least 2')] : []),
    ...(series.lastObservedTime ? [] : [required('series.lastObservedTime')]),
  ];
}

const immutableFields = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'type',
  'eventTime',
  'action',
  'related',
] as const;

/** Errors about changes through events.k8s.io of fields other than the series. */
function immutableFieldErrors(event: Event, old: Event): readonly FieldError[] {
  const changed = (path: string, value: unknown, before: unknown): readonly FieldError[] =>
    isDeepStrictEqual(value, before) ? [] : [invalidValue(path, value ?? '', 'field is immutable')];
  return [
    ...immutableFields.flatMap((path) => changed(path, event[path], old[path])),
    ...changed('reportingController', event.reportingComponent, old.reportingComponent),
    ...changed('reportingInstance', event.reportingInstance, old.reportingInstance),
  ];
}
