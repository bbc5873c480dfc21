// Handlers of an informer that treat all events alike.
import type { ApiObject } from '../api/metadata.ts';
import type { Handler } from './informer.ts';
import type { Key } from './key.ts';
import { keyOf } from './key.ts';

/** Calls `handle` for each change; `old` is the previous object of an update. */
export const onAnyChange = <T>(handle: (object: T, old?: T) => void): Required<Handler<T>> => ({
  added: (object) => handle(object),
  updated: (object, old) => handle(object, old),
  deleted: (object) => handle(object),
});

/** Calls `handle` with the key of each object that changes. */
export const onKeyChange = (handle: (key: Key) => void): Required<Handler<ApiObject>> =>
  onAnyChange((object) => handle(keyOf(object)));
