// Prints records in zone file format.
import type { RecordData } from '../../dnswire/data.ts';
import { typeName } from '../../dnswire/codes.ts';
import { printName } from '../../dnswire/name.ts';
import { readData } from '../../dnswire/record.ts';
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

/** The data of a record in zone file format. */
export function printData(data: RecordData): string {
  switch (data.type) {
    case 'A':
    case 'AAAA':
      return data.address;
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return printName(data.target);
    case 'SRV':
      return `${data.priority} ${data.weight} ${data.port} ${printName(data.target)}`;
    case 'TXT':
      return data.text.map((text) => JSON.stringify(text)).join(' ');
    case 'SOA': {
      const { serial, refresh, retry, expire, minimum } = data;
      const names = `${printName(data.primary)} ${printName(data.mailbox)}`;
      return `${names} ${serial} ${refresh} ${retry} ${expire} ${minimum}`;
    }
  }
}

/** Data of an unknown type (RFC 3597 §5). */
const printBytes = (data: Uint8Array): string => `\\# ${data.length} ${Buffer.from(data).toString('hex')}`.trim();
