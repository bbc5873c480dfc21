import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int32, microTime, optional, pointer, string, struct, time } from '../../../schema/schema.ts';
import { eventSource } from '../../core/event/schema.ts';
import { objectReference } from '../../core/object-reference.ts';

const events = 'io.k8s.api.events.v1';

const eventSeries = struct(`${events}.EventSeries`, 'How often an event was repeated.', {
  count: always(1, int32, 'Number of times, so far.', { required: true }),
  lastObservedTime: always(2, microTime, 'When it was last seen.', { required: true }),
});

/** Something that happened to an object, in the form of events.k8s.io. */
export const event = objectSchema(`${events}.Event`, 'Something that happened to an object; kept for an hour.', {
  eventTime: always(2, microTime, 'When it was first seen.', { required: true }),
  series: pointer(3, eventSeries, 'How often it was repeated.'),
  reportingController: optional(4, string, 'The controller that reported it.'),
  reportingInstance: optional(5, string, 'The instance of that controller.'),
  action: optional(6, string, 'What was done about the object.'),
  reason: optional(7, string, 'Why, in one word.'),
  regarding: always(8, objectReference, 'The object it happened to.'),
  related: pointer(9, objectReference, 'Another object that plays a part.'),
  note: optional(10, string, 'What happened, for a person.'),
  type: optional(11, string, 'Normal or Warning.'),
  deprecatedSource: always(12, eventSource, 'Who reported it, in the old form.'),
  deprecatedFirstTimestamp: always(13, time, 'When it was first seen, in the old form.'),
  deprecatedLastTimestamp: always(14, time, 'When it was last seen, in the old form.'),
  deprecatedCount: optional(15, int32, 'How often it was seen, in the old form.'),
});

export type NewEvent = Infer<typeof event>;
