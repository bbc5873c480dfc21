import { readFile } from 'node:fs/promises';
import { setInterval as every } from 'node:timers/promises';
import type { Logger } from 'pino';
import { messageOf } from '../../api/error-message.ts';
import type { MemberEntry } from '../../multicluster/multicluster.ts';
import { UsageError } from '../errors.ts';
import { settledText, textOf } from '../process/stable-file.ts';
import { entriesOf } from './entries.ts';
import type { MembersFile } from './members-file.ts';
import { parseMembers } from './members-file.ts';

/** Reads a file of members. */
export async function readMembers(path: string): Promise<MembersFile> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read --members ${path}: ${messageOf(error)}`, { cause: error });
  }
  return parseMembers(content, path);
}

export interface FollowMembersOptions {
  readonly path: string;
  /** As it was read when the command began. */
  readonly first: MembersFile;
  readonly log: Logger;
  /** How often to look; default 2 s. */
  readonly everyMs?: number;
}

/** Tells the members of a file, and again whenever the file says others. A file with an error changes nothing. */
export async function followMembers(
  { path, first, log, everyMs = 2000 }: FollowMembersOptions,
  change: (entries: readonly MemberEntry[]) => void,
  signal: AbortSignal,
): Promise<void> {
  let [known, complaint] = [JSON.stringify(first), ''];
  const readText = textOf(path);
  let text: string | undefined;
  change(entriesOf(first, path));
  try {
    for await (const _ of every(everyMs, undefined, { signal, ref: false })) {
      try {
        // One that is written in place is empty for a moment, which is no reason to let all members go.
        text = await settledText(readText, text);
        const next = text === undefined ? await readMembers(path) : parseMembers(text, path);
        complaint = '';
        if (JSON.stringify(next) === known) continue;
        known = JSON.stringify(next);
        log.info({ file: path, members: next.members.map(({ id }) => id) }, 'the members have changed');
        change(entriesOf(next, path));
      } catch (error) {
        // Told once; what is known goes on.
        if (messageOf(error) !== complaint)
          log.error({ file: path }, `the members stay as they were: ${messageOf(error)}`);
        complaint = messageOf(error);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
