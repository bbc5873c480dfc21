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
import { compare } from './fields/compare.ts';
import { createdFields } from './fields/created.ts';
import { ItemError } from './fields/items.ts';
import type { FieldSet } from './fields/set.ts';
import { difference, emptySet, fieldSetOf, isEmptySet, union } from './fields/set.ts';
import { structShapeOf } from './fields/shape.ts';
import type { JsonObject } from './json-value.ts';
import { equalJson } from './json-value.ts';

/** Fields that nobody owns, since the server sets them or they name the object. */
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
  /** What the client sent, decoded and defaulted, before the server sets anything on its own. */
  readonly next: ApiObject;
  readonly manager: string;
  readonly apiVersion: string;
  /** Absent for the object itself. */
  readonly subresource?: string;
  /** RFC 3339, whole seconds. */
  readonly now: string;
  /** Fields that this endpoint leaves as they are, and which a write here therefore never owns; see `fieldSetOf`. */
  readonly resetFields?: FieldSet;
}

/**
 * The `metadata.managedFields` of an object after a create, an update or a patch; undefined for none. The writer takes
 * over everything it changed; the stored list itself is returned where it changed nothing. Never fails: where ownership
 * cannot be told, it stays as it was.
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

// Tracking starts with an object's life or with its first apply, never in between.
function trackCreate(update: Update): readonly Entry[] | undefined {
  const fields = changesOf(update).gained;
  return isEmptySet(fields) ? undefined : [entryOf(writerOf(update), 'Update', { time: update.now, fields })];
}

/** The entries to start from: those sent, where they are valid, else the stored ones. */
function knownEntries(
  stored: readonly ManagedFieldsEntry[] | undefined,
  sent: readonly ManagedFieldsEntry[] | undefined,
  subresource = '',
): readonly Entry[] {
  if (subresource !== '' || sent === undefined || sent === null || sent === stored) return storedEntries(stored);
  if (isReset(sent)) return [];
  // Most clients send back what they have read.
  if (equalJson(sent, stored)) return storedEntries(stored);
  const parsed = parseEntries(sent);
  return parsed === undefined || parsed.length === 0 ? storedEntries(stored) : parsed;
}

/** The entries after the writer took over what it changed; the same list where it changed nothing. */
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

/** The object with another list of managers. */
export function withManagedFields<T extends ApiObject>(
  object: T,
  entries: readonly ManagedFieldsEntry[] | undefined,
): T {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata: entries === undefined ? metadata : { ...metadata, managedFields: entries } };
}

/**
 * The managers to store: `next`'s, or those of `live` where the two objects differ in nothing but the times of their
 * managers, so that such a write is no change.
 */
export function settledManagedFields(live: ApiObject, next: ApiObject): readonly ManagedFieldsEntry[] | undefined {
  const [stored, tracked] = [live.metadata.managedFields, next.metadata.managedFields];
  if (stored === tracked || stored === undefined || tracked === undefined) return tracked;
  const isSame = equalJson(withoutTimes(stored), withoutTimes(tracked)) && equalJson(contentOf(live), contentOf(next));
  return isSame ? stored : tracked;
}

// Times also decide the order of entries.
const withoutTimes = (entries: readonly ManagedFieldsEntry[]): JsonObject =>
  Object.fromEntries(entries.map((entry) => [identityOf(entry), { ...entry, time: '' }]));

function contentOf({ metadata, ...content }: ApiObject): unknown {
  const { managedFields: _, resourceVersion: __, ...rest } = metadata;
  return { ...content, metadata: rest };
}

/** An object of a kind, seen as the JSON it is. */
export const asJson = (object: ApiObject): JsonObject => object as ApiObject & JsonObject;
