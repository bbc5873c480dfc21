import { BackupDecoder } from '../../store/backup/format.ts';
import type { Settings } from '../options/flags.ts';
import type { Streams } from '../output.ts';
import { standard, writeToFile, writeToOutput } from './file.ts';
import { openSource } from './source.ts';

export interface WriteBackupOptions {
  readonly file: string;
  readonly overwrites: boolean;
  readonly streams: Streams;
}

/** Writes a backup and checks it meanwhile. Returns the exit code. */
export async function writeBackup(
  settings: Settings,
  { file, overwrites, streams: { err } }: WriteBackupOptions,
): Promise<number> {
  await using source = await openSource(settings, { err });
  const decoder = new BackupDecoder(`the backup of ${source.name}`);
  const lines = checked(source.lines, decoder);
  if (file === standard) await writeToOutput(lines);
  else await writeToFile(file, lines, { overwrites });
  const { cluster = '', revision, damaged = [] } = decoder.header ?? {};
  const name = file === standard ? 'standard output' : file;
  err(`${name}: ${decoder.records} records of cluster "${cluster}" at revision ${revision}\n`);
  for (const key of damaged) err(`warning: ${key} is damaged in the store and missing in the backup\n`);
  return 0;
}

async function* checked(lines: AsyncIterable<string>, decoder: BackupDecoder): AsyncGenerator<string, void> {
  for await (const line of lines) {
    decoder.take(line);
    yield line;
  }
  decoder.end();
}
