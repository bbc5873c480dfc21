// Converts between core/v1 and events.k8s.io/v1 Events, without loss.
import type { Event } from '../../core/event/schema.ts';
import type { EventsEvent } from './schema.ts';

/** Converts to the core Event, which is stored. */
export function toCore(event: EventsEvent): Event {
  const { apiVersion: _version, kind: _kind, ...given } = event;
  const { metadata, regarding, note, deprecatedCount, eventTime, series, related } = given;
  return {
    metadata,
    involvedObject: regarding,
    ...defined({ reason: given.reason, message: note }),
    source: given.deprecatedSource,
    firstTimestamp: given.deprecatedFirstTimestamp,
    lastTimestamp: given.deprecatedLastTimestamp,
    ...defined({ count: deprecatedCount, type: given.type }),
    eventTime,
    ...defined({ series, action: given.action, related }),
    reportingComponent: given.reportingController ?? '',
    reportingInstance: given.reportingInstance ?? '',
  };
}

/** Converts from the core Event. */
export function fromCore(event: Event): EventsEvent {
  const { metadata, involvedObject, reportingComponent, reportingInstance, message, count, eventTime } = event;
  const series = event.series && { count: event.series.count ?? 0, lastObservedTime: event.series.lastObservedTime };
  return {
    metadata,
    eventTime,
    ...defined({
      series,
      reportingController: reportingComponent || undefined,
      reportingInstance: reportingInstance || undefined,
      action: event.action,
      reason: event.reason,
    }),
    regarding: involvedObject,
    ...defined({ related: event.related, note: message, type: event.type }),
    deprecatedSource: event.source,
    deprecatedFirstTimestamp: event.firstTimestamp,
    deprecatedLastTimestamp: event.lastTimestamp,
    ...defined({ deprecatedCount: count }),
  };
}

type Defined<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** Drops undefined entries, which exact optional properties do not allow. */
function defined<T extends object>(entries: T): Defined<T> {
  const result: Defined<T> = {};
  for (const key of Object.keys(entries) as (keyof T)[]) {
    const value = entries[key];
    if (value !== undefined) result[key] = value as Exclude<T[keyof T], undefined>;
  }
  return result;
}
