import { isJsonObject } from '../../api/schema/json-object.ts';
import type { StatusError } from '../../api/errors.ts';
import { badRequest, failure } from '../../api/errors.ts';
import { truncate } from '../../api/text.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { StructSchema } from '../../api/schema/schema.ts';
import type { Conflict } from './conflict.ts';
import { applyConflict } from './conflict.ts';
import type { Entry, Writer } from './entries.ts';
import { encode, entryOf, isEntryOf, storedEntries } from './entries.ts';
import { compare } from './fields/compare.ts';
import { ItemError } from './fields/items.ts';
import { mergeConfiguration } from './fields/merge.ts';
import { removeFields, withNamedFields } from './fields/remove.ts';
import type { FieldSet } from './fields/set.ts';
import { difference, emptySet, intersection, isEmptySet, union, unionOf, without } from './fields/set.ts';
import { toFieldSet } from './fields/to-set.ts';
import { typeErrors } from './fields/typed.ts';
import type { JsonObject } from './json-value.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import { fieldsFromLastApplied, kubectl, refreshLastApplied } from './last-applied.ts';
import { asJson, neverOwned, trackUpdate } from './managed.ts';

/** A server-side apply. */
export interface Apply {
  readonly schema: StructSchema;
  /** The stored object; undefined if the apply creates it. */
  readonly live: ApiObject | undefined;
  readonly config: JsonObject;
  readonly manager: string;
  /** Takes fields from other managers instead of failing. */
  readonly force: boolean;
  readonly apiVersion: string;
  /** apiVersion → its schema, for a kind whose versions differ only in their schemas; absent for other kinds. */
  readonly versions?: ReadonlyMap<string, StructSchema>;
  /** Absent for the object itself. */
  readonly subresource?: string;
  /** Fields that a write through this subresource never changes; see `resetFieldsOf`. */
  readonly resetFields?: FieldSet;
  /** RFC 3339, whole seconds. */
  readonly now: string;
}

const beforeFirstApply = 'before-first-apply';
/** The maximum number of problems in an error. */
const maxProblems = 100;

/**
 * Applies a configuration to the live object and updates its managers. The result is neither defaulted nor validated;
 * fields that the server adds later have no manager. Returns the live object itself if nothing changes. Yields between
 * its steps, each of which is linear in the two objects.
 */
export function* applyConfiguration(apply: Apply): Generator<void, JsonObject> {
  checkConfiguration(apply);
  yield;
  try {
    return yield* applied(apply);
  } catch (error) {
    // Other writes can leave list items without keys, which apply cannot identify.
    if (!(error instanceof ItemError) || apply.live === undefined) throw error;
    const live = asJson(apply.live);
    throw untypable('live', live, [...typeErrors(live, apply.schema), error.message].slice(0, 1));
  }
}

function* applied(apply: Apply): Generator<void, JsonObject> {
  const live: JsonObject = apply.live === undefined ? {} : asJson(apply.live);
  const writer: Writer = { manager: apply.manager, apiVersion: apply.apiVersion, subresource: apply.subresource ?? '' };
  const entries = entriesOf(apply);
  const mine = entries.find((entry) => isEntryOf(entry, writer, 'Apply'));
  const others = entries.filter((entry) => entry !== mine);
  yield* checkVersions(apply, live, entries);
  yield;
  const claimed = claimedFields(apply);
  yield;
  const merged = mergeConfiguration(live, apply.config, apply.schema);
  yield;
  const now = unionOf([claimed, ...others.map(({ fieldsV1 }) => fieldsV1)]);
  yield;
  const pruned = yield* prune(merged, { before: mine?.fieldsV1 ?? emptySet, now }, apply.schema);
  yield;
  const remaining = takeFields(apply, live, { others, pruned });
  yield;

  const isChanged = !equalJson(live, pruned);
  const fields = difference(claimed, neverOwnedOrMetadata);
  const time = isChanged ? apply.now : (mine?.time ?? apply.now);
  const managedFields = encode([...remaining, entryOf(writer, 'Apply', { time, fields })]);
  yield;
  const object = apply.manager === kubectl ? refreshLastApplied(pruned, apply.config) : pruned;
  return withManagers(object, managedFields, live);
}

/** The fields that the applier claimed last time, and those that any manager claims now. */
interface Claims {
  readonly before: FieldSet;
  readonly now: FieldSet;
}

/**
 * Removes fields and items that the applier applied last time, does not apply now, and that no other manager owns. List
 * items and map entries are removed as a whole unless a manager owns the item itself, as every applier of a part of it
 * does. A struct is kept if any field in it is kept. Yields between steps.
 */
function* prune(merged: JsonObject, { before, now }: Claims, schema: StructSchema): Generator<void, JsonObject> {
  // Most applies remove nothing.
  if (isEmptySet(difference(before, now))) return merged;
  const named = (set: FieldSet): FieldSet => withNamedFields(set, schema);
  const fieldsOf = (object: JsonObject): FieldSet => named(toFieldSet(object, schema));

  const present = fieldsOf(merged);
  yield;
  // First remove everything that was claimed, with all that is below; then restore what any manager owns.
  const left = fieldsOf(removeFields(merged, named(before), schema));
  yield;
  const owned = removeFields(merged, difference(present, union(left, named(now))), schema);
  yield;
  // Of the removed fields, only those that the applier had claimed stay removed.
  return removeFields(merged, intersection(difference(present, fieldsOf(owned)), named(before)), schema);
}

// An empty `metadata` would itself count as a field.
const neverOwnedOrMetadata: FieldSet = union(neverOwned, { 'f:metadata': {} });

const claimedFields = ({ config, schema, resetFields = emptySet }: Apply): FieldSet =>
  without(toFieldSet(config, schema), resetFields);

/** The stored entries. The fields of an untracked object get the manager `before-first-apply`. */
function entriesOf({
  schema,
  live,
  apiVersion,
  subresource = '',
  resetFields = emptySet,
  now,
}: Apply): readonly Entry[] {
  const entries = storedEntries(live?.metadata.managedFields);
  if (live === undefined || entries.length > 0) return entries;
  const tracked = trackUpdate({
    schema,
    live: undefined,
    next: live,
    manager: beforeFirstApply,
    apiVersion,
    subresource,
    resetFields,
    now,
  });
  return storedEntries(tracked);
}

/** The other managers without the fields that this apply changes; throws a conflict unless it may take them. */
function takeFields(
  apply: Apply,
  live: JsonObject,
  { others, pruned }: { readonly others: readonly Entry[]; readonly pruned: JsonObject },
): Entry[] {
  const { added, modified, removed } = compare(live, pruned, apply.schema, apply.resetFields);
  const changed = union(added, modified);
  if (!apply.force) {
    const conflicts = refusedConflicts(apply, live, conflictsOf(others, changed));
    if (conflicts.length > 0) throw applyConflict(conflicts);
  }
  const lost = union(changed, removed);
  return others.map((entry) => ({ ...entry, fieldsV1: difference(entry.fieldsV1, lost) }));
}

const conflictsOf = (others: readonly Entry[], changed: FieldSet): Conflict[] =>
  others
    .map((owner) => ({ owner, fields: intersection(owner.fieldsV1, changed) }))
    .filter(({ fields }) => !isEmptySet(fields));

/** The remaining conflicts: kubectl may take fields that it set by client-side apply. */
function refusedConflicts(
  { manager, schema, apiVersion }: Apply,
  live: JsonObject,
  conflicts: readonly Conflict[],
): readonly Conflict[] {
  if (manager !== kubectl || conflicts.length === 0) return conflicts;
  const allowed = fieldsFromLastApplied(live, schema, apiVersion);
  return conflicts
    .map(({ owner, fields }) => ({ owner, fields: difference(fields, allowed) }))
    .filter(({ fields }) => !isEmptySet(fields));
}

function withManagers(object: JsonObject, managedFields: readonly Entry[] | undefined, live: JsonObject): JsonObject {
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
  const { managedFields: _, ...rest } = metadata;
  const result = { ...object, metadata: managedFields === undefined ? rest : { ...rest, managedFields } };
  return equalJson(result, live) ? live : result;
}

function checkConfiguration({ config, schema, apiVersion }: Apply): void {
  const sent = textOf(config['apiVersion']);
  if (sent !== apiVersion) {
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${sent}, expected: ${apiVersion}`,
    );
  }
  const metadata = isJsonObject(config['metadata']) ? config['metadata'] : {};
  if (isJsonObject(metadata['managedFields']) || Array.isArray(metadata['managedFields'])) {
    throw badRequest('metadata.managedFields must be nil');
  }
  const errors = typeErrors(config, schema);
  if (errors.length > 0) throw untypable('patch', config, errors.slice(0, maxProblems));
}

/**
 * Throws a 500 if the live object is not valid in the version of a manager, which happens when a version got fields with
 * defaults that another one lacks. Kubernetes cannot compare what such a manager owns.
 */
function* checkVersions(
  { apiVersion, versions }: Apply,
  live: JsonObject,
  entries: readonly Entry[],
): Generator<void, void> {
  if (versions === undefined) return;
  const others = new Set(entries.map((entry) => entry.apiVersion ?? ''));
  others.delete(apiVersion);
  for (const other of others) {
    yield;
    const schema = versions.get(other);
    if (schema === undefined) {
      throw failure({ code: 500, message: `request to convert CR to an invalid group/version: ${truncate(other)}` });
    }
    const errors = typeErrors({ ...live, apiVersion: other }, schema);
    if (errors.length > 0) throw failure({ code: 500, message: listOf(errors.slice(0, maxProblems)) });
  }
}

/** A 500, as in Kubernetes. */
function untypable(which: 'patch' | 'live', object: JsonObject, errors: readonly string[]): StatusError {
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
  const [group, version] = splitVersion(textOf(object['apiVersion']));
  const name = `${textOf(metadata['namespace'])}/${textOf(metadata['name'])}`;
  const what = `${name}; ${group}/${version}, Kind=${textOf(object['kind'])}`;
  return failure({ code: 500, message: `failed to create typed ${which} object (${what}): ${listOf(errors)}` });
}

function listOf(errors: readonly string[]): string {
  const [first] = errors;
  if (errors.length === 1 && first !== undefined) return first;
  return ['errors:', ...errors.map((error) => `  ${error}`)].join('\n');
}

const splitVersion = (apiVersion: string): [group: string, version: string] => {
  const slash = apiVersion.indexOf('/');
  return [apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1)];
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
