// Record sets as Route 53 has them.
import type { Change, ResourceRecordSet } from '@aws-sdk/client-route-53';
import type { Name } from '../../../dnswire/data.ts';
import { parseName, printName } from '../../../dnswire/name.ts';
import { parseData, printData } from '../../../dnswire/text.ts';
import type { NameChange } from '../../plan/changes.ts';
import type { RecordSet, ZoneContent } from '../../plan/record-set.ts';
import { recordSet } from '../../plan/record-set.ts';

/** Name and type of a set. */
const keyOf = ({ name, type }: Pick<RecordSet, 'name' | 'type'>): string => `${type} ${name}`;

/** Parses a name as Route 53 prints it, in which unusual characters are octal: `\052` is `*`. */
export const readZoneName = (text: string): Name | undefined =>
  parseName(
    text
      .toLowerCase()
      .replaceAll(/\\([0-3][0-7]{2})/g, (_, octal: string) => `\\${String(parseInt(octal, 8)).padStart(3, '0')}`),
  );

/** What a zone holds. */
export interface HostedContent {
  readonly content: ZoneContent;
  /** Name and type → the set as Route 53 has it, which a deletion must repeat. */
  readonly raw: ReadonlyMap<string, ResourceRecordSet>;
}

/**
 * Reads all sets of a zone. Sets with an identifier share name and type with others. They are joined, and their registry record
 * is left out: they have no owner, and are never changed.
 */
export function readHosted(all: Iterable<ResourceRecordSet>): HostedContent {
  const sets = new Map<string, RecordSet>();
  const raw = new Map<string, ResourceRecordSet>();
  const identified = new Set<string>();
  for (const each of all) {
    const set = setOf(each);
    if (set === undefined) continue;
    const key = keyOf(set);
    const known = sets.get(key);
    if (each.SetIdentifier !== undefined) identified.add(key);
    sets.set(key, known === undefined ? set : recordSet(set.name, set.type, joined(known, set)));
    raw.set(key, each);
  }
  for (const key of identified) if (key.startsWith('TXT ')) sets.delete(key);
  return { content: Map.groupBy(sets.values(), ({ name }) => name), raw };
}

const joined = (a: RecordSet, b: RecordSet): Pick<RecordSet, 'ttl' | 'values'> => ({
  ttl: a.ttl,
  values: [...a.values, ...b.values],
});

function setOf({ Name, Type, TTL = 0, ResourceRecords = [], AliasTarget }: ResourceRecordSet): RecordSet | undefined {
  const name = readZoneName(Name ?? '');
  if (name === undefined || Type === undefined) return undefined;
  const values =
    AliasTarget === undefined ? ResourceRecords.map(({ Value = '' }) => Value) : [`alias of ${AliasTarget.DNSName}`];
  return recordSet(name, Type, { ttl: TTL, values: values.map((value) => canonicalValue(Type, value)) });
}

function canonicalValue(type: string, value: string): string {
  const data = parseData(type, value);
  return data === undefined ? value : printData(data);
}

const rawOf = ({ name, type, ttl, values }: RecordSet): ResourceRecordSet => ({
  Name: printName(name),
  // A cast, because the SDK lists its types: the plan has no others.
  Type: type as NonNullable<ResourceRecordSet['Type']>,
  TTL: ttl,
  ResourceRecords: values.map((Value) => ({ Value })),
});

/** A change of a name as the changes of one batch, and its size. */
export interface PlannedChanges {
  readonly change: NameChange;
  readonly changes: readonly Change[];
  /** ResourceRecord elements. */
  readonly records: number;
  /** Characters of all values. */
  readonly characters: number;
}

/**
 * The changes that replace sets. Route 53 rejects the deletion of a set that is not as it was read, and the creation of one that
 * exists, so that a concurrent change of another program is never overwritten, as an UPSERT would do.
 */
export function changesOf(change: NameChange, raw: HostedContent['raw']): PlannedChanges {
  const effective = change.changes.filter(({ before, after }) => before !== after);
  const gone = effective.flatMap(({ before }) =>
    before === undefined ? [] : (raw.get(keyOf(before)) ?? rawOf(before)),
  );
  const added = effective.flatMap(({ after }) => (after === undefined ? [] : rawOf(after)));
  const values = [...gone, ...added].flatMap(({ ResourceRecords = [{ Value: '' }] }) => ResourceRecords);
  return {
    change,
    changes: [
      ...gone.map((set) => ({ Action: 'DELETE', ResourceRecordSet: set }) as const),
      ...added.map((set) => ({ Action: 'CREATE', ResourceRecordSet: set }) as const),
    ],
    records: values.length,
    characters: values.reduce((sum, { Value = '' }) => sum + Value.length, 0),
  };
}

/** The most that one ChangeResourceRecordSets may have. */
export const batchLimits = { records: 1000, characters: 32_000 };

/** Whether changes fit into one batch. */
export const fits = ({ records, characters }: Pick<PlannedChanges, 'records' | 'characters'>): boolean =>
  records <= batchLimits.records && characters <= batchLimits.characters;

/** Splits changes into batches; those of one name stay together. */
export function batchesOf(all: readonly PlannedChanges[]): readonly (readonly PlannedChanges[])[] {
  const batches: PlannedChanges[][] = [];
  let size = { records: Infinity, characters: 0 };
  for (const each of all) {
    const next = { records: size.records + each.records, characters: size.characters + each.characters };
    if (fits(next)) size = next;
    else {
      batches.push([]);
      size = each;
    }
    batches.at(-1)?.push(each);
  }
  return batches;
}

/** The sets as Route 53 has them after changes. */
export function rawAfter(raw: HostedContent['raw'], changes: readonly NameChange[]): HostedContent['raw'] {
  const next = new Map(raw);
  for (const { before, after } of changes.flatMap((each) => each.changes)) {
    if (before === after) continue;
    if (before !== undefined) next.delete(keyOf(before));
    if (after !== undefined) next.set(keyOf(after), rawOf(after));
  }
  return next;
}
