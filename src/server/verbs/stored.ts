import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Entry } from '../../store/store.ts';
import { Item } from '../cache/item.ts';
import { serialise } from '../cache/layout.ts';
import type { Resource } from '../resource.ts';

/** An object of the served version in the form it is stored. */
export const storedValue = ({ kind, cache }: Resource, object: ApiObject): string =>
  serialise(cache.layout, kind.storage === undefined ? object : kind.storage.toStorage(object));

/** A stored object in the version that is served. Throws if it cannot be read. */
export function servedObject({ kind }: Resource, item: Item): ApiObject {
  if (item.problem !== undefined) throw item.problem;
  return kind.storage === undefined
    ? item.object
    : { ...kind.storage.fromStorage(item.object), kind: kind.kind, apiVersion: apiVersionOf(kind) };
}

/** What a commit has written: the cache's item, unless it is older or a later write has come first. */
export function writtenItem({ cache }: Resource, entry: Entry): Item {
  const cached = cache.get(entry.key);
  return cached?.revision === entry.revision ? cached : cache.item(entry);
}

/** What a dry run answers with: an item that no store has seen. */
export const dryRunItem = ({ cache }: Resource, key: string, value: string, revision: number): Item =>
  new Item({ key, value, revision, created: revision }, cache.layout);
