// Whether clusters disagree about one field, and what would end it.
import type { Shape } from '../record.ts';
import { canonicalText } from './canonical.ts';
import type { Component } from './component.ts';
import type { Conflict, ConflictReason, Fix } from './conflict.ts';
import { listText } from './conflict-text.ts';

/** What is compared, and how to speak of it. */
export interface Question<Value> {
  readonly field: string;
  readonly reason: ConflictReason;
  readonly rule: string;
  readonly shapes: readonly Shape[];
  readonly valueOf: (component: Component) => Value;
  /** Whether a value counts: a cluster without one does not disagree. Default: all do. */
  readonly isOpinion?: (value: Value) => boolean;
  /** The winner is the first that has a value at all. Default: the first that counts. */
  readonly prefersPresence?: boolean;
  /** What to do to have a value, as in `change port http to 80/TCP`. */
  readonly remedy: (value: Value) => string;
}

interface Answer<Value> {
  readonly cluster: string;
  readonly since: string;
  readonly value: Value;
  readonly text: string;
}

/** The conflict over one field, if there is one. `components` are in order of precedence. */
export function disagreement<Value>(components: readonly Component[], question: Question<Value>): readonly Conflict[] {
  const answers = components.map((component): Answer<Value> => {
    const value = question.valueOf(component);
    return { cluster: component.cluster, since: component.since, value, text: canonicalText(value) };
  });
  const { isOpinion = () => true, prefersPresence = false } = question;
  const opinions = answers.filter(({ value }) => isOpinion(value));
  const winner = (prefersPresence ? opinions.find(({ value }) => value !== undefined) : undefined) ?? opinions[0];
  if (winner === undefined) return [];
  const losers = opinions.filter(({ text }) => text !== winner.text);
  if (losers.length === 0) return [];
  const { field, reason, rule, shapes } = question;
  return [
    {
      field,
      reason,
      rule,
      values: answers.map(({ cluster, value, since }) => ({ cluster, value, since })),
      winner: winner.cluster,
      losers: losers.map(({ cluster }) => cluster),
      shapes,
      fix: smallestFix(opinions, winner, question),
    },
  ];
}

/** As few clusters as possible change; where it makes no difference, those that lose. */
function smallestFix<Value>(opinions: readonly Answer<Value>[], winner: Answer<Value>, question: Question<Value>): Fix {
  const counts = new Map<string, number>();
  for (const { text } of opinions) counts.set(text, (counts.get(text) ?? 0) + 1);
  const most = Math.max(...counts.values());
  const wanted =
    counts.get(winner.text) === most ? winner : (opinions.find(({ text }) => counts.get(text) === most) ?? winner);
  const clusters = opinions.filter(({ text }) => text !== wanted.text).map(({ cluster }) => cluster);
  return { clusters, value: wanted.value, text: `in ${listText(clusters)}: ${question.remedy(wanted.value)}` };
}
