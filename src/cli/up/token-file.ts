import type { StaticToken } from '../../server/access/identity/static-tokens.ts';
import { UsageError } from '../errors.ts';

/**
 * Reads a kube-apiserver token file, lines of `token,user,uid,"group1,group2"`; the groups may be left out, `#` starts
 * a comment line. Errors name the line and never print the token.
 */
export function parseTokenFile(text: string): readonly StaticToken[] {
  const tokens = new Map<string, StaticToken>();
  text.split(/\r?\n/).forEach((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return;
    const token = readToken(line, index + 1);
    if (tokens.has(token.token)) throw new UsageError(`line ${index + 1}: this token is already on an earlier line`);
    tokens.set(token.token, token);
  });
  return [...tokens.values()];
}

function readToken(line: string, number: number): StaticToken {
  const fields = readCsvLine(line);
  if (fields === undefined) throw new UsageError(`line ${number}: a quote is not closed, or stands inside a field`);
  const [token = '', user = '', uid = '', groups = ''] = fields;
  if (fields.length < 3) {
    throw new UsageError(`line ${number}: expected token,user,uid and optional groups, found ${fields.length} fields`);
  }
  if (fields.length > 4) {
    throw new UsageError(
      `line ${number}: found ${fields.length} fields: put several groups in quotes, "group1,group2"`,
    );
  }
  if (token === '') throw new UsageError(`line ${number}: the token is empty`);
  if (user === '') throw new UsageError(`line ${number}: the user is empty`);
  return {
    token,
    user,
    uid,
    groups: groups
      .split(',')
      .map((group) => group.trim())
      .filter((group) => group !== ''),
  };
}

/** The fields of one line of CSV (RFC 4180 without line breaks in fields); undefined when the quotes do not match. */
function readCsvLine(line: string): string[] | undefined {
  const fields: string[] = [];
  const field = /(?:\s*"((?:[^"]|"")*)"\s*|([^",]*))(,|$)/y;
  for (let more = true; more;) {
    const match = field.exec(line);
    if (match === null) return undefined;
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2]?.trim() ?? '');
    more = match[3] === ',';
  }
  return fields;
}
