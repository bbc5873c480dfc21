// The list `metadata.managedFields`: parsing, order and limit.

import type { ManagedFieldsEntry } from '../../api/metadata.ts';
import { isEmptyObject } from '../../api/schema/json-object.ts';
import { parseFields } from './fields/fields-v1.ts';
import type { FieldSet } from './fields/set.ts';
import { isEmptySet, unionOf } from './fields/set.ts';
import { ordered } from './fields/fields-v1.ts';
import { getOrCompute } from '../../api/maps.ts';
import { compareText } from '../../api/order.ts';

/** An entry with parsed fields. */
export interface Entry extends ManagedFieldsEntry {
  readonly fieldsV1: FieldSet;
}

/** The writer of an entry; together with the operation it identifies the entry. */
export interface Writer {
  readonly manager: string;
  readonly apiVersion: string;
  /** Empty for the object itself. */
  readonly subresource: string;
}

const maxUpdaters = 10;
const ancientManager = 'ancient-changes';

/** The stored entries, which need no validation. */
export const storedEntries = (entries: readonly ManagedFieldsEntry[] | undefined): readonly Entry[] =>
  // Only `encode` writes this list.
  (entries ?? []) as readonly Entry[];

/** The entries of a request; undefined if any of them is invalid. */
export function parseEntries(entries: readonly ManagedFieldsEntry[]): Entry[] | undefined {
  const parsed = new Map<string, Entry>();
  for (const entry of entries) {
    if (entry.operation !== 'Apply' && entry.operation !== 'Update') return undefined;
    if (entry.apiVersion === undefined || entry.apiVersion === '' || entry.fieldsType !== 'FieldsV1') return undefined;
    const fieldsV1 = parseFields(entry.fieldsV1 ?? {});
    if (fieldsV1 === undefined) return undefined;
    parsed.set(identityOf(entry), { ...entry, fieldsV1 });
  }
  return [...parsed.values()];
}

/** Whether a request clears all managers with `[]` or `[{}]`. */
export function isReset(entries: readonly ManagedFieldsEntry[] | null | undefined): boolean {
  if (entries === undefined || entries === null) return false;
  const [first] = entries;
  return first === undefined || (entries.length === 1 && isEmptyObject(first));
}

/** A new entry, with its properties in the order of Kubernetes. */
export function entryOf(
  { manager, apiVersion, subresource }: Writer,
  operation: 'Apply' | 'Update',
  { time, fields }: { readonly time: string | undefined; readonly fields: FieldSet },
): Entry {
  return {
    manager: manager === '' ? 'unknown' : manager,
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: fields,
    ...(subresource === '' ? {} : { subresource }),
  };
}

/** The identity of an entry; an applier has one for all versions. Conflicts are sorted by this text. */
export function identityOf({ manager, operation, apiVersion, subresource }: ManagedFieldsEntry): string {
  return JSON.stringify({
    manager,
    operation,
    ...(operation === 'Apply' ? {} : { apiVersion }),
    ...(subresource === '' ? {} : { subresource }),
  });
}

/** Whether an entry belongs to a writer. */
export const isEntryOf = (entry: Entry, writer: Writer, operation: 'Apply' | 'Update'): boolean =>
  entry.manager === (writer.manager === '' ? 'unknown' : writer.manager) &&
  entry.operation === operation &&
  (entry.subresource ?? '') === writer.subresource &&
  (operation === 'Apply' || entry.apiVersion === writer.apiVersion);

/** The list to store: sorted and without empty entries; undefined if it is empty. */
export function encode(entries: readonly Entry[]): readonly Entry[] | undefined {
  const owning = entries.filter(({ fieldsV1 }) => !isEmptySet(fieldsV1));
  if (owning.length === 0) return undefined;
  return owning
    .map((entry) => {
      const fieldsV1 = ordered(entry.fieldsV1);
      return fieldsV1 === entry.fieldsV1 ? entry : { ...entry, fieldsV1 };
    })
    .toSorted(compareEntries);
}

const compareEntries = (left: Entry, right: Entry): number =>
  compareText(left.operation, right.operation) ||
  compareText(left.time, right.time) ||
  compareText(left.manager, right.manager) ||
  compareText(left.apiVersion, right.apiVersion) ||
  compareText(left.subresource, right.subresource);

/** Merges the oldest updaters of each version into one entry if there are more than ten. */
export function capUpdaters(entries: readonly Entry[]): readonly Entry[] {
  const updaters = entries.filter(({ operation }) => operation === 'Update');
  if (updaters.length <= maxUpdaters) return entries;
  const oldestFirst = updaters.toSorted(
    (left, right) => compareText(left.time, right.time) || compareText(identityOf(left), identityOf(right)),
  );

  const remaining = new Map(entries.map((entry) => [identityOf(entry), entry]));
  const firstOf = new Map<string, Entry>();
  /** identity → the sets that are merged into its entry at the end */
  const parts = new Map<string, FieldSet[]>();
  let count = updaters.length;
  for (const entry of oldestFirst) {
    if (count <= maxUpdaters) break;
    const version = entry.apiVersion ?? '';
    const first = firstOf.get(version);
    if (first === undefined) {
      // The first of its version: there is nothing to merge it with yet.
      firstOf.set(version, entry);
      continue;
    }
    const bucket = entryOf({ manager: ancientManager, apiVersion: version, subresource: '' }, 'Update', {
      time: entry.time,
      fields: entry.fieldsV1,
    });
    const identity = identityOf(bucket);
    const merged = remaining.get(identity) ?? first;
    if (merged === first) remaining.delete(identityOf(first));
    remaining.delete(identityOf(entry));
    remaining.set(identity, bucket);
    getOrCompute(parts, identity, () => [merged.fieldsV1]).push(entry.fieldsV1);
    count--;
  }
  return [...remaining].map(([identity, entry]) => {
    const sets = parts.get(identity);
    return sets === undefined ? entry : { ...entry, fieldsV1: unionOf(sets) };
  });
}
