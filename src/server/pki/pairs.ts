import { join } from 'node:path';

import { readIfPresent, writePrivateFile } from './files.ts';
import type { KeyPair } from './issue.ts';

/** Reads a certificate and its key; undefined if either file is missing. */
export async function readPair(directory: string, name: string): Promise<KeyPair | undefined> {
  const [cert, key] = await Promise.all(pathsOf(directory, name).map(readIfPresent));
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

/** Writes the key first: a certificate without its key would count as damage. */
export async function writePair(directory: string, name: string, pair: KeyPair): Promise<void> {
  const [certPath, keyPath] = pathsOf(directory, name);
  await writePrivateFile(keyPath, pair.key);
  await writePrivateFile(certPath, pair.cert);
}

const pathsOf = (directory: string, name: string): [cert: string, key: string] => [
  join(directory, `${name}.crt`),
  join(directory, `${name}.key`),
];
