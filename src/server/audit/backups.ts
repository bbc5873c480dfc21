import { extname } from 'node:path';

/** A file that was put aside. */
export interface Backup {
  readonly name: string;
  /** When, in milliseconds since the epoch. */
  readonly time: number;
}

const dayMs = 24 * 60 * 60 * 1000;

/** What a file is called once it is put aside, as kube-apiserver names it: `audit-2026-11-15T09-21-21.000.log`. */
export function backupName(name: string, time: number): string {
  const { stem, extension } = split(name);
  return `${stem}-${new Date(time).toISOString().replaceAll(':', '-').replace('Z', '')}${extension}`;
}

/** When the file `candidate` was put aside; undefined when it is not one of `name`'s. */
export function parseBackupName(name: string, candidate: string): number | undefined {
  const { stem, extension } = split(name);
  if (!candidate.startsWith(`${stem}-`) || !candidate.endsWith(extension)) return undefined;
  const text = candidate.slice(stem.length + 1, candidate.length - extension.length);
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(text);
  if (match === null) return undefined;
  const [, date = '', hours = '', minutes = '', seconds = ''] = match;
  return Date.parse(`${date}T${hours}:${minutes}:${seconds}Z`);
}

/** The files that are one too many or too old; 0 means no limit. */
export function backupsToRemove(
  backups: readonly Backup[],
  { maxBackups, maxAgeDays, now }: { readonly maxBackups: number; readonly maxAgeDays: number; readonly now: number },
): readonly Backup[] {
  const newestFirst = backups.toSorted((one, other) => other.time - one.time);
  return newestFirst.filter(
    ({ time }, index) => (maxBackups > 0 && index >= maxBackups) || (maxAgeDays > 0 && now - time > maxAgeDays * dayMs),
  );
}

function split(name: string): { readonly stem: string; readonly extension: string } {
  const extension = extname(name);
  return { stem: name.slice(0, name.length - extension.length), extension };
}
