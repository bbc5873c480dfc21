// The answer to a question, and why it is that.
import type { Name, RecordSet } from '../../dnswire/data.ts';
import type { Zones } from '../records/zones.ts';
import { rcodeName, typeName } from '../../dnswire/codes.ts';
import { printName } from '../../dnswire/name.ts';
import type { NameAndType, Outcome, Reason } from '../answer/answer.ts';
import { answer } from '../answer/answer.ts';
import { printData } from '../../dnswire/text.ts';
import { printEntry } from '../message/print.ts';
import type { Entry } from '../message/reply.ts';
import { isRaw } from '../message/reply.ts';

/** The zones, as `explain` reads them. */
export type ExplainLookup = Pick<Zones, 'find' | 'zoneOf' | 'closest' | 'zones'>;

/** A record of an answer. */
export interface ExplainedRecord {
  /** In zone file format. */
  readonly record: string;
  /** The objects that produced it; empty for records of the server itself. */
  readonly sources: readonly string[];
}

export interface ExplainedAnswer {
  readonly question: string;
  readonly rcode: string;
  readonly authoritative: boolean;
  readonly answers: readonly ExplainedRecord[];
  readonly authority: readonly ExplainedRecord[];
  readonly additional: readonly ExplainedRecord[];
  /** The name that is forwarded, for clients that may recurse. */
  readonly chase?: Name;
  readonly rule: Reason['rule'];
  /** Sentences that explain the answer. */
  readonly why: readonly string[];
}

export interface ExplainOptions {
  /**
   * Reasons why the objects that could produce a name do not: a Service without ready endpoints, a Namespace that is not
   * published. None by default.
   */
  readonly whyMissing?: (name: Name) => readonly string[];
}

/** Answers a query from the zones and names the object or rule behind each part of the answer. */
export function explain(zones: ExplainLookup, question: NameAndType, options: ExplainOptions = {}): ExplainedAnswer {
  const outcome = answer(zones, question);
  const explained = (entries: readonly Entry[]): readonly ExplainedRecord[] =>
    entries.flatMap((entry) => explainEntry(zones, entry));
  return {
    question: `${printName(question.name)} IN ${typeName(question.type)}`,
    rcode: rcodeName(outcome.rcode),
    authoritative: outcome.authoritative,
    answers: explained(outcome.answers),
    authority: explained(outcome.authority),
    additional: explained(outcome.additional),
    ...(outcome.chase === undefined ? {} : { chase: outcome.chase }),
    rule: outcome.reason.rule,
    why: [
      ...aliasesIn(outcome, question),
      ...reasonOf(zones, outcome, question),
      ...(outcome.reason.rule === 'no-such-name' ? (options.whyMissing?.(outcome.reason.name) ?? []) : []),
      ...chaseOf(outcome),
    ],
  };
}

function explainEntry(zones: ExplainLookup, entry: Entry): readonly ExplainedRecord[] {
  const lines = printEntry(entry);
  if (isRaw(entry)) return lines.map((record) => ({ record, sources: [] }));
  const node = zones.find(entry.owner);
  const sourceSets = node?.explain().filter(({ set }) => set.type === entry.type) ?? [];
  return entry.data.map((data, index) => {
    const text = printData(data);
    const makers = sourceSets.filter(({ set }) => set.data.some((each) => printData(each) === text));
    return { record: lines[index] ?? text, sources: makers.map(({ source }) => source) };
  });
}

function aliasesIn({ answers }: Outcome, { type }: NameAndType): readonly string[] {
  const aliases = answers.filter((entry): entry is RecordSet => !isRaw(entry) && entry.type === 'CNAME');
  return aliases.flatMap(({ owner, data: [first] }) => {
    if (first?.type !== 'CNAME' || typeName(type) === 'CNAME') return [];
    return [`${owner} is an alias of ${first.target}, which answers every type`];
  });
}

function reasonOf(zones: ExplainLookup, { reason: { rule, name } }: Outcome, { type }: NameAndType): readonly string[] {
  switch (rule) {
    case 'records':
      return [`${name} has ${typeName(type)} records, made by ${listed(makersOf(zones, name, typeName(type)))}`];
    case 'alias':
      return [];
    case 'any':
      return ['ANY returns a single RRset (RFC 8482): query a specific type'];
    case 'no-data':
      return [whyNoData(zones, name, typeName(type))];
    case 'no-such-name': {
      const encloser = zones.closest(name)?.name ?? '';
      return [`no object produces ${name}: the closest name that exists is ${encloser}`];
    }
    case 'outside':
      return [`${name} is outside our zones (${zones.zones.map(({ apex }) => apex).join(', ')})`];
    case 'loop':
      return [`the chain of aliases at ${name} is a loop or too long: change the externalName of one`];
    case 'transfer':
      return ['only clients in --transfer-to may transfer zones'];
  }
}

function whyNoData(zones: ExplainLookup, name: Name, type: string): string {
  const node = zones.find(name);
  const has = [...(node?.sets.keys() ?? [])];
  if (has.length > 0) return `${name} exists and has ${has.join(', ')}, but no ${type}`;
  const sources = node?.sources() ?? [];
  if (sources.length > 0) return `${name} exists because of ${listed(sources)}, without records of its own`;
  return `${name} exists only because names below it do (an empty non-terminal)`;
}

function makersOf(zones: ExplainLookup, name: Name, type: string): readonly string[] {
  const sourceSets = zones.find(name)?.explain() ?? [];
  return [...new Set(sourceSets.filter(({ set }) => set.type === type).map(({ source }) => source))];
}

function chaseOf({ chase, answers }: Outcome): readonly string[] {
  if (chase === undefined) return [];
  const refused = answers.length === 0 ? '; other clients get this answer' : '';
  return [`${chase} is forwarded upstream for clients that may recurse${refused}`];
}

const listed = (sources: readonly string[]): string =>
  sources.length === 0 ? 'the zone itself' : sources.join(' and ');

/** The explanation in zone file format, with reasons as comments. */
export function printExplanation(explained: ExplainedAnswer): string {
  const section = (title: string, records: readonly ExplainedRecord[]): readonly string[] =>
    records.length === 0 ? [] : [`;; ${title}`, ...records.map(lineOf)];
  const flags = explained.authoritative ? 'authoritative' : 'not authoritative';
  return [
    `;; ${explained.question}`,
    `;; ${explained.rcode}, ${flags}`,
    ...section('answer', explained.answers),
    ...section('authority', explained.authority),
    ...section('additional', explained.additional),
    ...explained.why.map((sentence) => `;; because ${sentence}`),
    '',
  ].join('\n');
}

const lineOf = ({ record, sources }: ExplainedRecord): string =>
  sources.length === 0 ? record : `${record} ; ${sources.join(', ')}`;
