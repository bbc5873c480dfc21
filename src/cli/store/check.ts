import { readBackup } from '../../store/backup/format.ts';
import type { Entry } from '../../store/store.ts';
import type { Settings } from '../options/flags.ts';
import type { Streams } from '../output.ts';
import { linesOf, nameOfFile } from './file.ts';
import { check } from './problems.ts';
import type { Source } from './source.ts';
import { openSource } from './source.ts';

/** Checks a backup, or the store that the flags select. Returns the exit code: 1 if there are problems. */
export async function checkStore(file: string | undefined, settings: Settings, streams: Streams): Promise<number> {
  await using source = file === undefined ? await openSource(settings, streams) : fileSource(file);
  const { header, records } = await readBackup(source.lines, source.name);
  const entries: Entry[] = [];
  for await (const entry of records) entries.push(entry);
  const { damaged = [], cluster, revision } = header;
  const { problems, encrypted } = check(entries);
  const all = [...damaged.map((key) => `${key}: the record is damaged`), ...problems];
  for (const problem of all) streams.out(`${problem}\n`);
  const found = all.length === 1 ? '1 problem' : `${all.length} problems`;
  streams.err(
    `${source.name}: ${entries.length} records of cluster "${cluster}" at revision ${revision}: ${found}` +
      `${encrypted === 0 ? '' : `; ${encrypted} encrypted values are not checked`}\n`,
  );
  return all.length === 0 ? 0 : 1;
}

const fileSource = (file: string): Source => ({
  name: nameOfFile(file),
  lines: linesOf(file),
  servers: [],
  [Symbol.asyncDispose]: async () => undefined,
});
