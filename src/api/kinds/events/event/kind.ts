import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, required } from '../../../field-errors.ts';
import type { Column } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { subdomainName } from '../../../names.ts';
import { eventColumns } from '../../core/event/columns.ts';
import { eventKind } from '../../core/event/kind.ts';
import type { Event } from '../../core/event/schema.ts';
import { eventErrors } from '../../core/event/validate.ts';
import { fromCore, toCore } from './convert.ts';
import { frozenFieldErrors } from './frozen.ts';
import type { NewEvent } from './schema.ts';
import { event } from './schema.ts';

export const newEventKind = defineKind<NewEvent>({
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  shortNames: ['ev'],
  namespaced: true,
  schema: event,
  createOnUpdate: true,
  columns: eventColumns.map((column): Column<NewEvent> => ({
    ...column,
    cell: (object, now) => column.cell(toCore(object), now),
  })),
  selectableFields: {
    'regarding.kind': ({ regarding }) => regarding.kind ?? '',
    'regarding.namespace': ({ regarding }) => regarding.namespace ?? '',
    'regarding.name': ({ regarding }) => regarding.name ?? '',
    'regarding.uid': ({ regarding }) => regarding.uid ?? '',
    'regarding.apiVersion': ({ regarding }) => regarding.apiVersion ?? '',
    'regarding.resourceVersion': ({ regarding }) => regarding.resourceVersion ?? '',
    'regarding.fieldPath': ({ regarding }) => regarding.fieldPath ?? '',
    reason: ({ reason }) => reason ?? '',
    reportingController: ({ reportingController }) => reportingController ?? '',
    type: ({ type }) => type ?? '',
  },
  storage: {
    kind: eventKind,
    toStorage: toCore,
    // Objects under the core Event's keys were written as such.
    fromStorage: (object) => fromCore(object as Event),
  },
  nameErrors: subdomainName,
  validateCreate: (object) => createErrors(toCore(object)),
  validateUpdate: (object, old) => updateErrors(toCore(object), toCore(old)),
});

// Paths are those of the core Event: Kubernetes checks both versions in one place and says so.
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
    ...frozenFieldErrors(event, old),
  ];
}

function seriesErrors({ series }: Event): readonly FieldError[] {
  if (series === undefined) return [];
  return [
    ...((series.count ?? 0) < 2 ? [invalidValue('series.count', '', 'should be at least 2')] : []),
    ...(series.lastObservedTime ? [] : [required('series.lastObservedTime')]),
  ];
}
