// Files with a TSIG key, as `tsig-keygen` prints them and `nsupdate -k` reads them.
import type { TsigKey } from '../../../dnswire/tsig.ts';
import { tsigAlgorithms } from '../../../dnswire/tsig.ts';
import { parseName } from '../../../dnswire/name.ts';

/** Parses the first key of a file. Throws with the reason, never with the secret. */
export function parseKeyFile(text: string): TsigKey {
  const plain = text.replaceAll(/(?:#|\/\/)[^\n]*/g, ' ').slice(0, maxLength);
  const start = /(?:^|[\s;])key\s+"?([^\s"{]+)"?\s*\{/.exec(plain);
  if (start === null) throw new Error('no key found: expected `key "NAME" { algorithm hmac-sha256; secret "…"; };`');
  const after = plain.slice(start.index + start[0].length);
  const body = after.slice(0, after.indexOf('}') === -1 ? after.length : after.indexOf('}'));
  const field = (name: string): string =>
    body
      .split(';')
      .map((statement) => statement.trim().split(/\s+/))
      .find(([word]) => word === name)?.[1]
      ?.replaceAll('"', '') ?? '';
  const name = parseName(start[1] ?? '');
  if (name === undefined) throw new Error('the name of the key is not a domain name');
  const algorithm = tsigAlgorithms.find((each) => each === field('algorithm').toLowerCase().replace(/\.$/, ''));
  if (algorithm === undefined)
    throw new Error(`the algorithm of key ${name} is "${field('algorithm')}": expected ${tsigAlgorithms.join(', ')}`);
  const secret = Buffer.from(field('secret'), 'base64');
  if (secret.length === 0) throw new Error(`the secret of key ${name} is missing or is not base64`);
  return { name, algorithm, secret };
}

/** Longer than any file with keys. */
const maxLength = 65_536;
