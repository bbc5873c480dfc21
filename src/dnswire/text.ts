// Record data in zone file format (RFC 1035 §5.1).
import { addressText, addressBytes } from './address.ts';
import type { RecordData } from './data.ts';
import { parseName, printName } from './name.ts';

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
export const printBytes = (data: Uint8Array): string =>
  `\\# ${data.length} ${Buffer.from(data).toString('hex')}`.trim();

/** Parses what `printData` prints, for the types that point to a host and TXT; undefined if it is malformed. */
export function parseData(type: string, text: string): RecordData | undefined {
  switch (type) {
    case 'A':
    case 'AAAA': {
      const bytes = addressBytes(text);
      return bytes?.length === (type === 'A' ? 4 : 16) ? { type, address: addressText(bytes) } : undefined;
    }
    case 'NS':
    case 'CNAME':
    case 'PTR': {
      const target = parseName(text);
      return target === undefined ? undefined : { type, target };
    }
    case 'SRV':
      return parseSrv(text);
    case 'TXT':
      return parseText(text);
    default:
      return undefined;
  }
}

function parseSrv(text: string): RecordData | undefined {
  const [, ...parts] = /^(\d{1,5}) (\d{1,5}) (\d{1,5}) (\S+)$/.exec(text) ?? [];
  const [priority = NaN, weight = NaN, port = NaN] = parts.slice(0, 3).map(Number);
  const target = parseName(parts[3] ?? '');
  if (target === undefined || !(Math.max(priority, weight, port) <= 0xffff)) return undefined;
  return { type: 'SRV', priority, weight, port, target };
}

/** Strings in quotes, separated by spaces; a backslash escapes the next character. */
function parseText(text: string): RecordData | undefined {
  const strings: string[] = [];
  for (let at = 0; at < text.length; at++) {
    if (text[at] === ' ' && strings.length > 0) continue;
    if (text[at] !== '"') return undefined;
    let string = '';
    for (at++; text[at] !== '"'; at++) {
      if (text[at] === '\\') at++;
      if (at >= text.length) return undefined;
      string += text[at] ?? '';
    }
    strings.push(string);
  }
  return strings.length === 0 ? undefined : { type: 'TXT', text: strings };
}
