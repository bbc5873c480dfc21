// UPDATE messages (RFC 2136).
import { classes, opcodes, types } from './codes.ts';
import type { Name } from './data.ts';
import { MessageWriter } from './writer.ts';
import type { RawRecord } from './record.ts';

/** A condition under which a server applies an update. All must hold, or nothing is applied. */
export type Prerequisite =
  /** There is no record at the name. */
  | { readonly require: 'unused'; readonly name: Name }
  /** The name has no record of the type. */
  | { readonly require: 'absent'; readonly name: Name; readonly type: number }
  /** The set has exactly these records. Their TTL is not compared. */
  | { readonly require: 'equal'; readonly name: Name; readonly type: number; readonly data: readonly Uint8Array[] };

/** A change. A server applies them in order. */
export type UpdateStep =
  | {
      readonly do: 'add';
      readonly name: Name;
      readonly type: number;
      readonly ttl: number;
      readonly data: readonly Uint8Array[];
    }
  | { readonly do: 'delete'; readonly name: Name; readonly type: number; readonly data: readonly Uint8Array[] }
  | { readonly do: 'delete set'; readonly name: Name; readonly type: number };

export interface Update {
  readonly zone: Name;
  readonly prerequisites: readonly Prerequisite[];
  readonly steps: readonly UpdateStep[];
}

/** Encodes an update; undefined if it is larger than `limit` or a name in it cannot be encoded. */
export function encodeUpdate(
  { zone, prerequisites, steps }: Update,
  { id, limit }: { readonly id: number; readonly limit: number },
): Uint8Array | undefined {
  const conditions = prerequisites.flatMap(prerequisiteRecords);
  const changes = steps.flatMap(stepRecords);
  const writer = new MessageWriter(limit);
  const counts = { questions: 1, answers: conditions.length, authorities: changes.length, additionals: 0 };
  if (Math.max(conditions.length, changes.length) > 0xffff) return undefined;
  const isWritten =
    writer.header({ id, flags: opcodes.UPDATE << 11, ...counts }) &&
    writer.question({ name: zone, type: types.SOA, class: classes.IN }) &&
    [...conditions, ...changes].every((record) => writer.rawRecord(record));
  return isWritten ? writer.bytes() : undefined;
}

const none = new Uint8Array();

function prerequisiteRecords(condition: Prerequisite): readonly RawRecord[] {
  const owner = condition.name;
  switch (condition.require) {
    case 'unused':
      return [{ owner, type: types.ANY, class: classes.NONE, ttl: 0, data: none }];
    case 'absent':
      return [{ owner, type: condition.type, class: classes.NONE, ttl: 0, data: none }];
    case 'equal':
      return condition.data.map((data) => ({ owner, type: condition.type, class: classes.IN, ttl: 0, data }));
  }
}

function stepRecords(step: UpdateStep): readonly RawRecord[] {
  const { name: owner, type } = step;
  switch (step.do) {
    case 'add':
      return step.data.map((data) => ({ owner, type, class: classes.IN, ttl: step.ttl, data }));
    case 'delete':
      return step.data.map((data) => ({ owner, type, class: classes.NONE, ttl: 0, data }));
    case 'delete set':
      return [{ owner, type, class: classes.ANY, ttl: 0, data: none }];
  }
}
