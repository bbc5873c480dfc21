import { defineKind } from '../../../kind.ts';
import { pathSegmentName } from '../../../names.ts';
import { eventColumns } from './columns.ts';
import type { Event } from './schema.ts';
import { event } from './schema.ts';
import { eventErrors } from './validate.ts';

export const eventKind = defineKind<Event>({
  group: '',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  shortNames: ['ev'],
  namespaced: true,
  schema: event,
  quota: 'none',
  createOnUpdate: true,
  columns: eventColumns,
  selectableFields: {
    'involvedObject.kind': ({ involvedObject }) => involvedObject.kind ?? '',
    'involvedObject.namespace': ({ involvedObject }) => involvedObject.namespace ?? '',
    'involvedObject.name': ({ involvedObject }) => involvedObject.name ?? '',
    'involvedObject.uid': ({ involvedObject }) => involvedObject.uid ?? '',
    'involvedObject.apiVersion': ({ involvedObject }) => involvedObject.apiVersion ?? '',
    'involvedObject.resourceVersion': ({ involvedObject }) => involvedObject.resourceVersion ?? '',
    'involvedObject.fieldPath': ({ involvedObject }) => involvedObject.fieldPath ?? '',
    reason: ({ reason }) => reason ?? '',
    reportingComponent: ({ reportingComponent }) => reportingComponent,
    source: ({ source, reportingComponent }) => source.component ?? reportingComponent,
    type: ({ type }) => type ?? '',
  },
  // Whoever reports an event names it, and Kubernetes takes any name that fits into a URL.
  nameErrors: pathSegmentName,
  validateCreate: (object) => eventErrors(object, 'reportingComponent'),
  validateUpdate: (object) => eventErrors(object, 'reportingComponent'),
});
