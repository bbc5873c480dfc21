import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int32, microTime, optional, pointer, string, struct, time } from '../../../schema/schema.ts';
import { objectReference } from '../references.ts';

const core = 'io.k8s.api.core.v1';

export const eventSource = struct(`${core}.EventSource`, 'The component that reported an event.', {
  component: optional(1, string, 'The program.'),
  host: optional(2, string, 'The node it ran on.'),
});

const eventSeries = struct(`${core}.EventSeries`, 'Repetitions of an event.', {
  count: optional(1, int32, 'Number of occurrences.'),
  lastObservedTime: always(2, microTime, 'When it was last observed.'),
});

export const event = objectSchema(`${core}.Event`, 'An event about an object; deleted after an hour.', {
  involvedObject: always(2, objectReference, 'The object of the event.', { required: true }),
  reason: optional(3, string, 'Reason, as one CamelCase word.'),
  message: optional(4, string, 'Human-readable description.'),
  source: always(5, eventSource, 'The component that reported it.'),
  firstTimestamp: always(6, time, 'When it was first observed.'),
  lastTimestamp: always(7, time, 'When it was last observed.'),
  count: optional(8, int32, 'Number of occurrences.'),
  type: optional(9, string, 'Normal or Warning.'),
  eventTime: always(10, microTime, 'When it was first observed, in events of new form.'),
  series: pointer(11, eventSeries, 'Repetitions, in events of new form.'),
  action: optional(12, string, 'The action that was taken.'),
  related: pointer(13, objectReference, 'A second object of the event.'),
  reportingComponent: always(14, string, 'The controller that reported it.'),
  reportingInstance: always(15, string, 'The instance of that controller.'),
});

export type Event = Infer<typeof event>;
