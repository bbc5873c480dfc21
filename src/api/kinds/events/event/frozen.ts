import { isDeepStrictEqual } from 'node:util';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue } from '../../../field-errors.ts';
import type { Event } from '../../core/event/schema.ts';

const frozen = [
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

/** The fields of an event, other than its series, that an update through events.k8s.io has changed. */
export function frozenFieldErrors(event: Event, old: Event): readonly FieldError[] {
  const changed = (path: string, value: unknown, before: unknown): readonly FieldError[] =>
    isDeepStrictEqual(value, before) ? [] : [invalidValue(path, value ?? '', 'field is immutable')];
  return [
    ...frozen.flatMap((path) => changed(path, event[path], old[path])),
    ...changed('reportingController', event.reportingComponent, old.reportingComponent),
    ...changed('reportingInstance', event.reportingInstance, old.reportingInstance),
  ];
}
