import { eventKind } from '../../api/kinds/core/event/kind.ts';
import type { ServerContext } from '../context.ts';
import { ignoreNotFound } from '../../api/errors.ts';
import type { Item } from '../cache/item.ts';
import { deleteObject } from '../verbs/delete-object.ts';

/** Deletes the Events that have not occurred for their time to live; returns their number. */
export async function expireEvents(context: ServerContext): Promise<number> {
  const cache = context.watchCache.of(eventKind);
  const resource = { kind: eventKind, cache };
  const before = context.clock() - (eventKind.ttlSeconds ?? Infinity) * 1000;
  const expired = cache.range(cache.prefix).filter((item) => lastOccurrence(item) < before);
  for (const { object } of expired) {
    const { namespace = '', name = '' } = object.metadata;
    await ignoreNotFound(deleteObject(context, resource, { namespace, name }, {}));
  }
  return expired.length;
}

function lastOccurrence({ object }: Item): number {
  const { metadata, lastTimestamp, eventTime, series } = object as typeof object & {
    readonly lastTimestamp?: string;
    readonly eventTime?: string;
    readonly series?: { readonly lastObservedTime?: string };
  };
  const times = [metadata.creationTimestamp, lastTimestamp, eventTime, series?.lastObservedTime];
  return Math.max(...times.map((time) => (typeof time === 'string' ? Date.parse(time) || 0 : 0)));
}
