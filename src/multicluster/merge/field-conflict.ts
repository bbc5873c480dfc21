// Compares one field across clusters and computes the smallest fix.
import type { McsApi } from '../record.ts';
import type { Component } from './component.ts';
import type { Conflict, ConflictReason, Fix } from './conflict.ts';
import { canonicalText, listText } from './conflict.ts';

/** The field that is compared, and the texts of its conflict. */
export interface FieldRule<Value> {
  readonly field: string;
  readonly reason: ConflictReason;
  readonly rule: string;
  readonly apis: readonly McsApi[];
  readonly valueOf: (component: Component) => Value;
  /** Whether a value takes part in the comparison. Default: all do. */
  readonly counts?: (value: Value) => boolean;
  /** The winner is the first cluster whose value is defined. Default: the first cluster. */
  readonly prefersDefined?: boolean;
  /** The instruction to set a value, as in `change port http to 80/TCP`. */
  readonly fixText: (value: Value) => string;
}

interface FieldValue<Value> {
  readonly cluster: string;
  readonly since: string;
  readonly value: Value;
  readonly text: string;
}

/** The conflict over one field, or none. `components` are in order of precedence. */
export function fieldConflict<Value>(components: readonly Component[], rule: FieldRule<Value>): readonly Conflict[] {
  const values = components.map((component): FieldValue<Value> => {
    const value = rule.valueOf(component);
    return { cluster: component.cluster, since: component.since, value, text: canonicalText(value) };
  });
  const { counts = () => true, prefersDefined = false } = rule;
  const compared = values.filter(({ value }) => counts(value));
  const winner = (prefersDefined ? compared.find(({ value }) => value !== undefined) : undefined) ?? compared[0];
  if (winner === undefined) return [];
  const losers = compared.filter(({ text }) => text !== winner.text);
  if (losers.length === 0) return [];
  return [
    {
      field: rule.field,
      reason: rule.reason,
      rule: rule.rule,
      values: values.map(({ cluster, value, since }) => ({ cluster, value, since })),
      winner: winner.cluster,
      losers: losers.map(({ cluster }) => cluster),
      apis: rule.apis,
      fix: smallestFix(compared, winner, rule),
    },
  ];
}

/** Changes as few clusters as possible; on a tie, the losers change. */
function smallestFix<Value>(
  compared: readonly FieldValue<Value>[],
  winner: FieldValue<Value>,
  rule: FieldRule<Value>,
): Fix {
  const counts = new Map<string, number>();
  for (const { text } of compared) counts.set(text, (counts.get(text) ?? 0) + 1);
  const most = Math.max(...counts.values());
  const wanted =
    counts.get(winner.text) === most ? winner : (compared.find(({ text }) => counts.get(text) === most) ?? winner);
  const clusters = compared.filter(({ text }) => text !== wanted.text).map(({ cluster }) => cluster);
  return { clusters, value: wanted.value, text: `in ${listText(clusters)}: ${rule.fixText(wanted.value)}` };
}
