import type { MemberEntry } from '../../multicluster/multicluster.ts';
import { UsageError } from '../errors.ts';
import type { MembersFile } from '../mcs/members-file.ts';

/** The members, of which those that are no targets are only read; without targets all are written to. */
export const aimedAt = (
  targets: readonly string[] | undefined,
  entries: readonly MemberEntry[],
): readonly MemberEntry[] =>
  targets === undefined ? entries : entries.map((entry) => ({ ...entry, isReadOnly: !targets.includes(entry.id) }));

/** Throws when a target is no member: an agent without a cluster would do nothing, and say nothing. */
export function checkTargets(targets: readonly string[] | undefined, { members }: MembersFile, path: string): void {
  const ids = members.map(({ id }) => id);
  const unknown = targets?.find((target) => !ids.includes(target));
  if (unknown === undefined) return;
  throw new UsageError(`--target ${unknown} is no member: ${path} has ${ids.join(', ')}`);
}
