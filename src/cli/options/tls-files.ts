import { readFile } from 'node:fs/promises';

import { fileErrorOf } from '../../api/error-message.ts';
import { FatalError, UsageError } from '../errors.ts';
import type { Flag, Settings } from './flags.ts';
import { grouped, textOf } from './flags.ts';

/** A certificate, its key, and the authority of the other end, PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** The flags of mutual TLS. */
export const tlsFlags: readonly Flag[] = grouped('Certificates', [
  { name: 'tls-cert-file', value: 'FILE', description: 'certificate of this end, PEM' },
  { name: 'tls-private-key-file', value: 'FILE', description: 'key of the certificate, PEM' },
  { name: 'ca-file', value: 'FILE', description: 'authority that signs the certificate of the other end, PEM' },
]);

/** Reads the files of the flags. `command` is the one that writes them. */
export async function readTls(settings: Settings, command: string): Promise<TlsFiles> {
  const read = async (flag: string): Promise<string> => {
    const path = textOf(settings, flag);
    if (path === undefined) throw new UsageError(`--${flag} is missing: \`${command}\` writes the files`);
    return readFile(path, 'utf8').catch((error: unknown) => {
      throw new FatalError(`cannot read --${flag} ${path}: ${fileErrorOf(error)}`, { cause: error });
    });
  };
  const [cert, key, ca] = await Promise.all(['tls-cert-file', 'tls-private-key-file', 'ca-file'].map(read));
  return { cert: cert ?? '', key: key ?? '', ca: ca ?? '' };
}
