import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int32, microTime, optional, pointer, string, struct, time } from '../../../schema/schema.ts';
import { eventSource } from '../../core/event/schema.ts';
import { objectReference } from '../../core/references.ts';

const events = 'io.k8s.api.events.v1';

const eventSeries = struct(`${events}.EventSeries`, 'Repetitions of an event.', {
  count: always(1, int32, 'Number of occurrences.', { required: true }),
  lastObservedTime: always(2, microTime, 'When it was last observed.', { required: true }),
});

export const event = objectSchema(`${events}.Event`, 'An event about an object; deleted after an hour.', {
  eventTime: always(2, microTime, 'When it was first observed.', { required: true }),
  series: pointer(3, eventSeries, 'Repetitions.'),
  reportingController: optional(4, string, 'The controller that reported it.'),
  reportingInstance: optional(5, string, 'The instance of that controller.'),
  action: optional(6, string, 'The action that was taken.'),
  reason: optional(7, string, 'Reason, as one CamelCase word.'),
  regarding: always(8, objectReference, 'The object of the event.'),
  related: pointer(9, objectReference, 'A second object of the event.'),
  note: optional(10, string, 'Human-readable description.'),
  type: optional(11, string, 'Normal or Warning.'),
  deprecatedSource: always(12, eventSource, 'The component that reported it, in the old form.'),
  deprecatedFirstTimestamp: always(13, time, 'When it was first observed, in the old form.'),
  deprecatedLastTimestamp: always(14, time, 'When it was last observed, in the old form.'),
  deprecatedCount: optional(15, int32, 'Number of occurrences, in the old form.'),
});

export type EventsEvent = Infer<typeof event>;
