import { readFile } from 'node:fs/promises';
import { messageOf } from '../../api/error-message.ts';
import { printConfig } from '../../dns/config.ts';
import { ConfigError } from '../../dns/config-values.ts';
import { readCorefile } from '../../dns/corefile.ts';
import { UsageError } from '../errors.ts';
import type { PartAction } from '../part/part.ts';

/** `fairlead dns import-corefile FILE`: a configuration of CoreDNS as a file for `--config`. */
export const importCorefile: PartAction['run'] = async ({ args: [path = ''], streams }) => {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
  try {
    const { settings, notes } = readCorefile(text);
    for (const note of notes) streams.err(`${path}:${note.line}: ${note.text}\n`);
    streams.out(printConfig(settings, [`Made from ${path}.`]));
    return 0;
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(`${path}: ${error.message}`, { cause: error }) : error;
  }
};
