import { readFile } from 'node:fs/promises';
import { setInterval as every } from 'node:timers/promises';
import type { Logger } from 'pino';
import { fileErrorOf, messageOf } from '../../api/error-message.ts';
import type { MemberEntry } from '../../multicluster/member/entry.ts';
import { UsageError } from '../errors.ts';
import { stableText, textOf } from '../process/stable-file.ts';
import { entriesOf } from './entries.ts';
import type { MembersFile } from './members-file.ts';
import { parseMembers } from './members-file.ts';

/** Reads a file of members. */
export async function readMembers(path: string): Promise<MembersFile> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read --members ${path}: ${fileErrorOf(error)}`, { cause: error });
  }
  return parseMembers(content, path);
}

export interface FollowMembersOptions {
  readonly path: string;
  /** The content at the start. */
  readonly first: MembersFile;
  readonly log: Logger;
  /** How often to read the file; default 2 s. */
  readonly everyMs?: number;
}

/** Passes the members of a file to `change`, now and after every change of the file. A file with an error is logged and changes nothing. */
export async function followMembers(
  { path, first, log, everyMs = 2000 }: FollowMembersOptions,
  change: (entries: readonly MemberEntry[]) => void,
  signal: AbortSignal,
): Promise<void> {
  let [current, lastError] = [JSON.stringify(first), ''];
  const readText = textOf(path);
  let text: string | undefined;
  change(entriesOf(first, path));
  try {
    for await (const _ of every(everyMs, undefined, { signal, ref: false })) {
      try {
        text = await stableText(readText, text);
        const next = text === undefined ? await readMembers(path) : parseMembers(text, path);
        if (lastError !== '') log.warn({ file: path }, 'members file is valid again');
        lastError = '';
        if (JSON.stringify(next) === current) continue;
        current = JSON.stringify(next);
        log.info({ file: path, members: next.members.map(({ id }) => id) }, 'members reloaded');
        change(entriesOf(next, path));
      } catch (error) {
        if (messageOf(error) !== lastError)
          log.error({ file: path, reason: messageOf(error) }, 'members not reloaded, the previous ones stay');
        lastError = messageOf(error);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
