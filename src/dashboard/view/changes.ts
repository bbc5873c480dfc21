// What changed between two states of a row, in words, for the timeline.
import type { EndpointCounts, Finding, Level, Row } from './rows.ts';

/** One line of the timeline. */
export interface Change {
  /** The id of the row. */
  readonly id: string;
  readonly level: Level | 'ok';
  readonly text: string;
}

/** The changes of one row; undefined: it did not exist, or no longer does. */
export function changesOf(before: Row | undefined, after: Row | undefined): readonly Change[] {
  const row = after ?? before;
  if (row === undefined) return [];
  const say = (text: string, level: Change['level'] = 'info'): Change => ({ id: row.id, level, text });
  if (before === undefined)
    return [say(`${nounOf(row)} created`), ...newFindings([], row.findings).map((each) => say(each.text, each.level))];
  if (after === undefined) return [say(`${nounOf(row)} deleted`)];
  // What is not read yet is no finding of its own.
  if (before.kind === 'cluster' && before.state === 'reading' && after.kind === 'cluster' && after.state !== 'lost')
    return after.state === 'ok'
      ? [say('cluster read', 'ok'), ...after.findings.map((each) => say(each.text, each.level))]
      : [];
  return [
    ...stateChanges(before, after).map(([text, level]) => say(text, level)),
    ...newFindings(before.findings, after.findings).map(({ text, level }) => say(text, level)),
    ...newFindings(after.findings, before.findings).map(({ reason }) => say(`resolved: ${reason}`, 'ok')),
  ];
}

const nounOf = ({ kind }: Row): string => ({ cluster: 'cluster', service: 'Service', import: 'import' })[kind];

/** Findings that were not there. The text of one may change with its numbers. */
const newFindings = (before: readonly Finding[], after: readonly Finding[]): readonly Finding[] =>
  after.filter(({ reason }) => !before.some((other) => other.reason === reason));

type Statement = readonly [text: string, level?: Change['level']];

function stateChanges(before: Row, after: Row): readonly Statement[] {
  if (before.kind === 'cluster' && after.kind === 'cluster') {
    if (before.state === after.state) return [];
    // The finding has the reason.
    return after.state === 'ok' ? [['cluster answers again', 'ok']] : [];
  }
  if (before.kind === 'service' && after.kind === 'service') {
    return [
      ...(before.type === after.type ? [] : [[`type: ${before.type} → ${after.type}`] as const]),
      ...listChange('addresses', before.addresses, after.addresses),
      ...listChange('external addresses', before.external, after.external),
      ...listChange('ports', before.ports.map(portText), after.ports.map(portText)),
      ...(before.externalName === after.externalName
        ? []
        : [[`external name: ${before.externalName ?? 'none'} → ${after.externalName ?? 'none'}`] as const]),
      ...(before.exported === after.exported
        ? []
        : [[`export: ${before.exported ?? 'none'} → ${after.exported ?? 'none'}`] as const]),
      ...countChange('', before.endpoints, after.endpoints),
    ];
  }
  if (before.kind === 'import' && after.kind === 'import') {
    const clusters = new Set([...before.sources, ...after.sources].map(({ cluster }) => cluster));
    return [
      ...listChange('addresses', before.addresses, after.addresses),
      ...[...clusters].flatMap((cluster) => {
        const [old, now] = [before, after].map(({ sources }) => sources.find((source) => source.cluster === cluster));
        if (old === undefined) return [[`imported from ${cluster} too`] as const];
        if (now === undefined) return [[`no longer imported from ${cluster}`] as const];
        return countChange(` of ${cluster}`, old, now);
      }),
    ];
  }
  return [];
}

const portText = ({ port }: { readonly port: string }): string => port;

function listChange(noun: string, before: readonly string[], after: readonly string[]): readonly Statement[] {
  const [old, now] = [before.join(', ') || 'none', after.join(', ') || 'none'];
  return old === now ? [] : [[`${noun}: ${old} → ${now}`]];
}

function countChange(
  whose: string,
  before: EndpointCounts | undefined,
  after: EndpointCounts | undefined,
): readonly Statement[] {
  const [old, now] = [before?.ready ?? 0, after?.ready ?? 0];
  return old === now ? [] : [[`ready endpoints${whose}: ${old} → ${now}`]];
}
