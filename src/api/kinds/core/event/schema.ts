import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int32, microTime, optional, pointer, string, struct, time } from '../../../schema/schema.ts';
import { objectReference } from '../object-reference.ts';

const core = 'io.k8s.api.core.v1';

export const eventSource = struct(`${core}.EventSource`, 'Who reported an event.', {
  component: optional(1, string, 'The program.'),
  host: optional(2, string, 'The node it ran on.'),
});

const eventSeries = struct(`${core}.EventSeries`, 'How often an event was repeated.', {
  count: optional(1, int32, 'Number of times, so far.'),
  lastObservedTime: always(2, microTime, 'When it was last seen.'),
});

/** Something that happened to an object. */
export const event = objectSchema(`${core}.Event`, 'Something that happened to an object; kept for an hour.', {
  involvedObject: always(2, objectReference, 'The object it happened to.', { required: true }),
  reason: optional(3, string, 'Why, in one word.'),
  message: optional(4, string, 'What happened, for a person.'),
  source: always(5, eventSource, 'Who reported it.'),
  firstTimestamp: always(6, time, 'When it was first seen.'),
  lastTimestamp: always(7, time, 'When it was last seen.'),
  count: optional(8, int32, 'How often it was seen.'),
  type: optional(9, string, 'Normal or Warning.'),
  eventTime: always(10, microTime, 'When it was first seen, by newer reporters.'),
  series: pointer(11, eventSeries, 'How often it was repeated, by newer reporters.'),
  action: optional(12, string, 'What was done about the object.'),
  related: pointer(13, objectReference, 'Another object that plays a part.'),
  reportingComponent: always(14, string, 'The controller that reported it.'),
  reportingInstance: always(15, string, 'The instance of that controller.'),
});

export type Event = Infer<typeof event>;
