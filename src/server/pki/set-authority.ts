import { join } from 'node:path';

import { makePrivateDirectory, readPair, writePair } from './files.ts';
import type { KeyPair, Subject } from './issue.ts';
import { issue, issueCa } from './issue.ts';

const validityDays = 365;

/**
 * Writes certificates of subjects, by file name, and of the authority that signs them: `ca`. An authority in the directory is used again.
 * Returns the paths of the certificates.
 */
export async function writeCertificates(
  directory: string,
  authority: string,
  subjects: ReadonlyMap<string, Subject>,
): Promise<readonly string[]> {
  const now = new Date();
  await makePrivateDirectory(directory);
  const ca = (await readPair(directory, 'ca')) ?? (await issueCa(authority, { now, days: 10 * validityDays }));
  const made = new Map<string, KeyPair>([['ca', ca]]);
  for (const [name, subject] of subjects) made.set(name, await issue(ca, subject, { now, days: validityDays }));
  for (const [name, pair] of made) await writePair(directory, name, pair);
  return [...made.keys()].map((name) => `${join(directory, name)}.crt`);
}
