import type { ApiObject, ManagedFieldsEntry } from '../../api/metadata.ts';
import type { StructSchema } from '../../api/schema/schema.ts';
import type { Entry, Writer } from './entries.ts';
import {
  capUpdaters,
  encode,
  entryOf,
  identityOf,
  isEntryOf,
  isReset,
  parseEntries,
  storedEntries,
} from './entries.ts';
import { compare, createdFields } from './fields/compare.ts';
import { ItemError } from './fields/items.ts';
import type { FieldSet } from './fields/set.ts';
import { difference, emptySet, fieldSetOf, isEmptySet, union } from './fields/set.ts';
import { structShapeOf } from './fields/shape.ts';
import type { JsonObject } from './json-value.ts';
import { equalJson } from '../../api/schema/equal-json.ts';

/** Fields that no manager owns, since the server sets them or they identify the object. */
export const neverOwned: FieldSet = fieldSetOf(
  ['apiVersion'],
  ['kind'],
  ['metadata', 'name'],
  ['metadata', 'namespace'],
  ['metadata', 'creationTimestamp'],
  ['metadata', 'selfLink'],
  ['metadata', 'uid'],
  ['metadata', 'clusterName'],
  ['metadata', 'generation'],
  ['metadata', 'managedFields'],
  ['metadata', 'resourceVersion'],
);

/** A write other than apply. */
export interface Update {
  readonly schema: StructSchema;
  /** The stored object; undefined on create. */
  readonly live: ApiObject | undefined;
  /** The object of the client, decoded and defaulted, before the server sets further fields. */
  readonly next: ApiObject;
  readonly manager: string;
  readonly apiVersion: string;
  /** Absent for the object itself. */
  readonly subresource?: string;
  /** RFC 3339, whole seconds; undefined for an entry without a time. */
  readonly now: string | undefined;
  /** Fields that a write through this subresource never changes, and therefore never owns; see `resetFieldsOf`. */
  readonly resetFields?: FieldSet;
}

/**
 * The `metadata.managedFields` of an object after a create, an update or a patch; undefined for none. The writer becomes
 * the manager of every field that it changed; the stored list itself is returned if it changed nothing. Never fails: if
 * the owners cannot be determined, they are kept.
 */
export function trackUpdate(update: Update): readonly ManagedFieldsEntry[] | undefined {
  const stored = update.live?.metadata.managedFields;
  try {
    const entries = knownEntries(stored, update.next.metadata.managedFields, update.subresource);
    if (entries.length === 0) return update.live === undefined ? trackCreate(update) : undefined;
    const tracked = takeOver(entries, update);
    return tracked === entries && entries !== stored ? encode(tracked) : tracked;
  } catch (error) {
    if (error instanceof ItemError) return stored;
    throw error;
  }
}

// Tracking starts when an object is created or first applied, never in between.
function trackCreate(update: Update): readonly Entry[] | undefined {
  const fields = changesOf(update).gained;
  return isEmptySet(fields) ? undefined : [entryOf(writerOf(update), 'Update', { time: update.now, fields })];
}

/** The sent entries if they are valid, else the stored ones. */
function knownEntries(
  stored: readonly ManagedFieldsEntry[] | undefined,
  sent: readonly ManagedFieldsEntry[] | undefined,
  subresource = '',
): readonly Entry[] {
  if (subresource !== '' || sent === undefined || sent === null || sent === stored) return storedEntries(stored);
  if (isReset(sent)) return [];
  // Most clients send the entries that they have read.
  if (equalJson(sent, stored)) return storedEntries(stored);
  const parsed = parseEntries(sent);
  return parsed === undefined || parsed.length === 0 ? storedEntries(stored) : parsed;
}

/** The entries with the writer as manager of what it changed; the same list if it changed nothing. */
function takeOver(entries: readonly Entry[], update: Update): readonly Entry[] | undefined {
  const { gained, lost } = changesOf(update);
  if (isEmptySet(gained) && isEmptySet(lost)) return entries;
  const changed = union(gained, lost);
  const writer = writerOf(update);
  const next: Entry[] = [];
  let owned = gained;
  for (const entry of entries) {
    const fieldsV1 = difference(entry.fieldsV1, changed);
    const isMine = !isEmptySet(gained) && isEntryOf(entry, writer, 'Update');
    if (isMine) owned = union(fieldsV1, gained);
    else next.push(fieldsV1 === entry.fieldsV1 ? entry : { ...entry, fieldsV1 });
  }
  if (!isEmptySet(gained)) next.push(entryOf(writer, 'Update', { time: update.now, fields: owned }));
  return encode(capUpdaters(next));
}

interface Changes {
  readonly gained: FieldSet;
  readonly lost: FieldSet;
}

function changesOf({ schema, live, next, resetFields = emptySet }: Update): Changes {
  const skip = union(neverOwned, resetFields);
  if (live === undefined) {
    return { gained: createdFields(asJson(next), structShapeOf(schema), skip), lost: emptySet };
  }
  const { added, modified, removed } = compare(asJson(live), asJson(next), schema, skip);
  return { gained: union(added, modified), lost: removed };
}

const writerOf = ({ manager, apiVersion, subresource = '' }: Update): Writer => ({ manager, apiVersion, subresource });

/** The object with the given managers. */
export function withManagedFields<T extends ApiObject>(
  object: T,
  entries: readonly ManagedFieldsEntry[] | undefined,
): T {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata: entries === undefined ? metadata : { ...metadata, managedFields: entries } };
}

/**
 * The managers to store: those of `next`, or those of `live` if the two objects differ only in the times of managers, so
 * that such a write is not a change.
 */
export function settledManagedFields(live: ApiObject, next: ApiObject): readonly ManagedFieldsEntry[] | undefined {
  const [stored, tracked] = [live.metadata.managedFields, next.metadata.managedFields];
  if (stored === tracked || stored === undefined || tracked === undefined) return tracked;
  const isSame = equalJson(withoutTimes(stored), withoutTimes(tracked)) && equalJson(contentOf(live), contentOf(next));
  return isSame ? stored : tracked;
}

// By identity, since times also determine the order of entries.
const withoutTimes = (entries: readonly ManagedFieldsEntry[]): JsonObject =>
  Object.fromEntries(entries.map((entry) => [identityOf(entry), { ...entry, time: '' }]));

function contentOf({ metadata, ...content }: ApiObject): unknown {
  const { managedFields: _, resourceVersion: __, ...rest } = metadata;
  return { ...content, metadata: rest };
}

/** An object as JSON. */
export const asJson = (object: ApiObject): JsonObject => object as ApiObject & JsonObject;
