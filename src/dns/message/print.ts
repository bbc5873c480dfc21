// Prints records in zone file format.
import { typeName } from '../../dnswire/codes.ts';
import { printName } from '../../dnswire/name.ts';
import { readData } from '../../dnswire/record.ts';
import { printBytes, printData } from '../../dnswire/text.ts';
import type { Entry } from './reply.ts';
import { isRaw } from './reply.ts';

/** The lines of an entry: owner, TTL, class, type, data. */
export function printEntry(entry: Entry): readonly string[] {
  const owner = printName(entry.owner);
  if (!isRaw(entry)) return entry.data.map((data) => `${owner} ${entry.ttl} IN ${data.type} ${printData(data)}`);
  const known = readData(entry.type, entry.data);
  const text = known === undefined ? printBytes(entry.data) : printData(known);
  return [`${owner} ${entry.ttl} IN ${typeName(entry.type)} ${text}`];
}
