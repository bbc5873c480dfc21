// The files that are written: one record a line, with absolute names (RFC 1035 §5.1).
import type { Name } from '../../../dnswire/data.ts';
import { parseName, printName } from '../../../dnswire/name.ts';
import { parseData, printData } from '../../../dnswire/text.ts';
import type { RecordSet, ZoneContent } from '../../plan/record-set.ts';
import { publishedTypes, recordSet } from '../../plan/record-set.ts';

const notice = '; Written by fairlead publisher, which replaces this file.';

/** Prints the content of a zone, sorted. */
export function printZoneFile(content: ZoneContent): string {
  const lines = [...content.values()].flat().flatMap(linesOf);
  return [notice, ...lines.toSorted(), ''].join('\n');
}

const linesOf = ({ name, type, ttl, values }: RecordSet): readonly string[] =>
  values.map((value) => `${printName(name)} ${ttl} IN ${type} ${value}`);

interface FileRecord {
  readonly name: Name;
  readonly type: string;
  readonly ttl: number;
  readonly value: string;
}

/** Parses a file as it is printed. Throws with the number of the first line that is not. */
export function parseZoneFile(text: string): ZoneContent {
  const records = text.split('\n').flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith(';')) return [];
    const record = parseLine(line);
    if (record !== undefined) return [record];
    const advice = 'remove the file, or choose another directory';
    throw new Error(`line ${index + 1} is not a record such as "www.example.org. 60 IN A 192.0.2.1": ${advice}`);
  });
  const sets = Map.groupBy(records, ({ name, type }) => `${name} ${type}`).values();
  return Map.groupBy(
    sets.flatMap((all) => setOf(all)),
    ({ name }) => name,
  );
}

function setOf(records: readonly FileRecord[]): readonly RecordSet[] {
  const [first] = records;
  if (first === undefined) return [];
  return [recordSet(first.name, first.type, { ttl: first.ttl, values: records.map(({ value }) => value) })];
}

function parseLine(line: string): FileRecord | undefined {
  const [, owner = '', ttl = '', type = '', text = ''] = /^(\S+) (\d{1,10}) IN ([A-Z0-9]+) (\S.*)$/.exec(line) ?? [];
  const name = owner.endsWith('.') ? parseName(owner) : undefined;
  if (name === undefined) return undefined;
  const data = parseData(type, text);
  if (data === undefined && ['TXT', ...publishedTypes].includes(type)) return undefined;
  return { name, type, ttl: Number(ttl), value: data === undefined ? text : printData(data) };
}
