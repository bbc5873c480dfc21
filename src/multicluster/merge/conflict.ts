// A field on which clusters disagree: the data, and the text of the Conflict condition (MCS-137).
import type { McsApi } from '../record.ts';
import { byKey } from '../../api/order.ts';

/** The reasons of the Conflict condition. */
export type ConflictReason =
  | 'PortConflict'
  | 'TypeConflict'
  | 'SessionAffinityConflict'
  | 'SessionAffinityConfigConflict'
  | 'LabelsConflict'
  | 'AnnotationsConflict'
  | 'InternalTrafficPolicyConflict'
  | 'TrafficDistributionConflict'
  | 'IPFamilyConflict'
  | 'HostnameConflict';

/** The value of the field in one cluster, as written in a manifest; undefined: the field is not set. */
export interface ConflictValue {
  readonly cluster: string;
  readonly value: unknown;
  /** When the cluster exported the service. */
  readonly since: string;
}

/** A field on which clusters disagree. */
export interface Conflict {
  /** As in `spec.ports[http]`. */
  readonly field: string;
  readonly reason: ConflictReason;
  /** The requirement that is violated. */
  readonly rule: string;
  /** All valid exporters, in order of precedence. */
  readonly values: readonly ConflictValue[];
  /** The cluster whose value is used where the oldest wins. */
  readonly winner: string;
  /** Clusters whose value differs from the winner's. */
  readonly losers: readonly string[];
  /** The APIs in which this is a conflict. */
  readonly apis: readonly McsApi[];
  readonly fix: Fix;
}

/** The change that resolves a conflict in the fewest clusters: the minority takes the value of the majority. */
export interface Fix {
  readonly clusters: readonly string[];
  readonly value: unknown;
  readonly text: string;
}

/** A condition's message has a limit of 32768 characters. */
const maxLength = 30_000;

/** One conflict as a sentence: field, values, clusters, winner and fix. */
export function conflictText({ field, rule, values, winner, fix }: Conflict): string {
  return `${field}: ${valuesText(values)} (${rule}); ${winner} came first; to fix it, ${fix.text}`;
}

/** All conflicts, as many as fit into a condition message. */
export function conflictsText(conflicts: readonly Conflict[]): string {
  const texts = conflicts.map(conflictText);
  const fitting: string[] = [];
  let length = 0;
  for (const text of texts) {
    length += text.length + 2;
    if (length > maxLength) break;
    fitting.push(text);
  }
  const left = texts.length - fitting.length;
  const more = left === 0 ? [] : [`and ${left} more: fairlead mcs explain shows all`];
  return [...fitting, ...more].join('; ');
}

/** `80/TCP in east and north, 8080/TCP in west`. */
function valuesText(values: Conflict['values']): string {
  const groups = Map.groupBy(values, ({ value }) => canonicalText(value));
  return [...groups.values()]
    .map((group) => `${valueText(group[0]?.value)} in ${clustersText(group.map(({ cluster }) => cluster))}`)
    .join(', ');
}

const maxNames = 20;

/** `east, north and west`; a long list ends in `and 5 more`. */
export const clustersText = (names: readonly string[]): string =>
  listText(names.length > maxNames ? [...names.slice(0, maxNames), `${names.length - maxNames} more`] : names);

/** `east`, `east and west`, `east, north and west`. */
export const listText = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;

/** A value as written in a manifest. */
export function valueText(value: unknown): string {
  if (value === undefined) return 'none';
  if (value === '') return '""';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A text that is equal for two values if and only if the values are; the order of an object's keys does not matter. */
export function canonicalText(value: unknown): string {
  if (typeof value === 'string') return `"${value}`;
  return (
    JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'object' && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).toSorted(byKey))
        : part,
    ) ?? ''
  );
}
