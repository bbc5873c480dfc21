import type { StatusError } from '../../api/errors.ts';
import { truncate } from '../../api/text.ts';
import { failure } from '../../api/errors.ts';
import type { Entry } from './entries.ts';
import { identityOf } from './entries.ts';
import { printPaths } from './fields/fields-v1.ts';
import type { FieldSet } from './fields/set.ts';

/** Fields that another manager owns and an apply would change. */
export interface Conflict {
  readonly owner: Entry;
  readonly fields: FieldSet;
}

/** The error for an apply without `force` that would take fields from other managers. */
export function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const byOwner = conflicts
    .toSorted((left, right) => (identityOf(left.owner) < identityOf(right.owner) ? -1 : 1))
    .map(({ owner, fields }) => ({
      owner: printOwner(owner),
      paths: printPaths(fields).map((path) => truncate(path)),
    }));
  const count = byOwner.reduce((sum, { paths }) => sum + paths.length, 0);
  const shown = firstOf(byOwner, maxShown);
  const causes = shown.flatMap(({ owner, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${owner}`, field })),
  );
  return failure({ code: 409, reason: 'Conflict', message: messageOf(shown, count), details: { causes } });
}

/** The maximum number of conflicts in an error, which counts all of them. */
const maxShown = 100;

function firstOf(byOwner: readonly OwnerPaths[], count: number): readonly OwnerPaths[] {
  let left = count;
  return byOwner.flatMap(({ owner, paths }) => {
    const shown = paths.slice(0, left);
    left -= shown.length;
    return shown.length === 0 ? [] : [{ owner, paths: shown }];
  });
}

interface OwnerPaths {
  readonly owner: string;
  readonly paths: readonly string[];
}

function messageOf(byOwner: readonly OwnerPaths[], count: number): string {
  const [first] = byOwner;
  if (count === 1 && first !== undefined) {
    return `Apply failed with 1 conflict: conflict with ${first.owner}: ${first.paths.join()}`;
  }
  const lines = byOwner.flatMap(({ owner, paths }) => [
    `conflicts with ${owner}:`,
    ...paths.map((path) => `- ${path}`),
  ]);
  return `Apply failed with ${count} conflicts: ${lines.join('\n')}`;
}

function printOwner({ manager, operation, apiVersion, subresource = '' }: Entry): string {
  const name = JSON.stringify(manager);
  const through = subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  return `${name}${through}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;
}
