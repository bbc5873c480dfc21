import { entityTooLarge } from '../../api/errors.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { QuotaExceededError, ValueTooLargeError } from '../../store/errors.ts';
import type { Commit, Entry, Write } from '../../store/store.ts';
import { Item, objectInVersion } from '../cache/item.ts';
import { serialise } from '../cache/layout.ts';
import type { ServerContext } from '../context.ts';
import type { Work } from '../limits/time-slicer.ts';
import { unsliced } from '../limits/time-slicer.ts';
import { withManagedFields } from '../patch/managed.ts';
import type { Resource } from '../resource.ts';

/** The stored form of an object of the served version. Throws if a webhook fails to convert it. */
export function storedValue(
  { conversions }: ServerContext,
  { kind, cache }: Resource,
  object: ApiObject,
  work: Work = unsliced,
): Promise<string> | string {
  const { storage } = kind;
  if (storage === undefined) return work.run(() => serialise(cache.layout, object));
  if (kind.webhookVersions === undefined) return work.run(() => serialise(cache.layout, storage.toStorage(object)));
  return conversions.convert(object, kind, storage.kind).then((stored) => serialise(cache.layout, stored));
}

/** A stored object in the served version. Throws if it cannot be read, or if a webhook fails to convert it. */
export async function servedObject(
  { conversions }: ServerContext,
  { kind }: Resource,
  item: Item,
  work: Work,
): Promise<ApiObject> {
  if (item.problem !== undefined) throw item.problem;
  await conversions.prepare(kind, [item]);
  if (kind.storage === undefined) return objectInVersion(kind, item);
  const type = { kind: kind.kind, apiVersion: apiVersionOf(kind) };
  return work.run(() => ({ ...objectInVersion(kind, item), ...type }));
}

/** The item of a committed entry: that of the cache if it has this revision, else a new one. */
export function writtenItem({ cache }: Resource, entry: Entry): Item {
  const cached = cache.get(entry.key);
  return cached?.revision === entry.revision ? cached : cache.item(entry);
}

/** The item that a dry run returns. */
export const dryRunItem = ({ cache }: Resource, key: string, value: string, revision: number): Item =>
  new Item({ key, value, revision, created: revision }, cache.layout);

/** The time to live of a written object. */
export const expiryOf = ({ cache: { kind } }: Resource): Pick<Write, 'ttlSeconds'> =>
  kind.ttlSeconds === undefined ? {} : { ttlSeconds: kind.ttlSeconds };

interface Candidate {
  readonly object: ApiObject;
  /** The object as it is stored. */
  readonly value: string;
  /** The object that it replaces, if any. */
  readonly old: ApiObject | undefined;
}

interface Committed {
  readonly commit: Commit;
  /** The written value. */
  readonly value: string;
}

/**
 * Commits an object with its claims. An object that is too large is committed without its managers, as in Kubernetes.
 * When the store's quota is reached, the managers of `old` are kept, so that a write that removes data does not grow it.
 */
export async function commitObject(
  context: ServerContext,
  resource: Resource,
  { object, value, old }: Candidate,
  writesOf: (value: string) => readonly Write[],
): Promise<Committed> {
  try {
    return { commit: await context.store.commit(writesOf(value)), value };
  } catch (error) {
    const smaller = withFewerManagers(error, object, old);
    if (smaller !== undefined) {
      const next = { object: smaller, value: await storedValue(context, resource, smaller), old };
      return commitObject(context, resource, next, writesOf);
    }
    throw error instanceof ValueTooLargeError ? valueTooLarge(error) : error;
  }
}

/** The object to retry with after an error; undefined if a retry cannot help. */
function withFewerManagers(error: unknown, object: ApiObject, old: ApiObject | undefined): ApiObject | undefined {
  const { managedFields } = object.metadata;
  const isTooLarge = error instanceof ValueTooLargeError;
  if (managedFields === undefined || (!isTooLarge && !(error instanceof QuotaExceededError))) return undefined;
  const kept = isTooLarge ? undefined : old?.metadata.managedFields;
  return kept === managedFields || (!isTooLarge && old === undefined) ? undefined : withManagedFields(object, kept);
}

const valueTooLarge = ({ bytes, limit }: ValueTooLargeError): Error =>
  entityTooLarge(`the object would be stored in ${bytes} bytes, the limit is ${limit}`);
