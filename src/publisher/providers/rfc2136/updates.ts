// Changes of names → UPDATE messages (RFC 2136).
import { typeNumber, types } from '../../../dnswire/codes.ts';
import { encodeRecord } from '../../../dnswire/record.ts';
import { parseData } from '../../../dnswire/text.ts';
import type { Prerequisite, UpdateStep } from '../../../dnswire/update.ts';
import type { NameChange, SetChange } from '../../plan/changes.ts';
import type { RecordSet } from '../../plan/record-set.ts';
import type { ZoneMirror } from './mirror.ts';
import { dataText } from './mirror.ts';

/** One change as parts of a message. */
export interface PlannedUpdate {
  readonly change: NameChange;
  readonly prerequisites: readonly Prerequisite[];
  readonly steps: readonly UpdateStep[];
  /** Its size without compression. */
  readonly bytes: number;
}

/**
 * The parts of a change. Everything that the plan was made from is a prerequisite: the sets that are changed, with their
 * owners, and that names are unused or no alias. So an update never overwrites a concurrent change of another program.
 */
export function updateOf(change: NameChange, mirror: ZoneMirror): PlannedUpdate {
  const unused = new Set(change.unused);
  const prerequisites: Prerequisite[] = [
    ...change.unused.map((name) => ({ require: 'unused', name }) as const),
    ...change.noAlias.map((name) => ({ require: 'absent', name, type: types.CNAME }) as const),
  ];
  const deletions: UpdateStep[] = [];
  const additions: UpdateStep[] = [];
  for (const each of change.changes) {
    const set = each.before ?? each.after;
    if (set === undefined || unused.has(set.name) === false) prerequisites.push(...conditionOf(each, mirror));
    const steps = stepsOf(each, mirror);
    deletions.push(...steps.filter((step) => step.do !== 'add'));
    additions.push(...steps.filter((step) => step.do === 'add'));
  }
  // An alias and other data cannot be together even for a moment: deletions come first.
  const steps = [...deletions, ...additions];
  const bytes = [...prerequisites, ...steps].reduce((sum, part) => sum + sizeOf(part), 0);
  return { change, prerequisites, steps, bytes };
}

function conditionOf({ before, after }: SetChange, mirror: ZoneMirror): readonly Prerequisite[] {
  const set = before ?? after;
  if (set === undefined) return [];
  const type = numberOf(set);
  const data = before === undefined ? undefined : mirror.dataOf(set.name, type);
  if (data !== undefined) return [{ require: 'equal', name: set.name, type, data }];
  return [{ require: 'absent', name: set.name, type }];
}

function stepsOf({ before, after }: SetChange, mirror: ZoneMirror): readonly UpdateStep[] {
  if (before === after) return [];
  if (after === undefined)
    return before === undefined ? [] : [{ do: 'delete set', name: before.name, type: numberOf(before) }];
  const { name, ttl } = after;
  const type = numberOf(after);
  const kept = new Set(before?.values);
  const desired = new Set(after.values);
  // An added record changes the TTL of the whole set, so that one is enough if the records stay.
  const isTtlNew = before !== undefined && before.ttl !== ttl;
  const added = after.values.filter((value) => !kept.has(value));
  const sent = added.length === 0 && isTtlNew ? after.values : added;
  const gone = (mirror.dataOf(name, type) ?? []).filter((data) => !desired.has(dataText(type, data)));
  return [
    ...(before !== undefined && gone.length > 0 ? [{ do: 'delete', name, type, data: gone } as const] : []),
    ...(sent.length > 0
      ? [{ do: 'add', name, type, ttl, data: sent.map((value) => encoded(after, value)) } as const]
      : []),
  ];
}

function encoded({ name, type }: RecordSet, value: string): Uint8Array {
  const data = parseData(type, value);
  const bytes = data && encodeRecord(data);
  if (bytes === undefined) throw new Error(`bug: ${type} ${name} has the value ${value}`);
  return bytes;
}

function numberOf({ name, type }: RecordSet): number {
  const number = typeNumber(type);
  if (number === undefined) throw new Error(`bug: ${name} has a set of the type ${type}`);
  return number;
}

/** The bytes of records with this owner and these data. */
function sizeOf(part: Prerequisite | UpdateStep): number {
  const data = 'data' in part ? part.data : [new Uint8Array()];
  return data.reduce((sum, { length }) => sum + part.name.length + 12 + length, 0);
}

/** Splits updates into messages of at most `limit` bytes. An update above the limit is alone. */
export function batchesOf(updates: readonly PlannedUpdate[], limit: number): readonly (readonly PlannedUpdate[])[] {
  const batches: PlannedUpdate[][] = [];
  let bytes = Infinity;
  for (const update of updates) {
    if (bytes + update.bytes > limit) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1)?.push(update);
    bytes += update.bytes;
  }
  return batches;
}
