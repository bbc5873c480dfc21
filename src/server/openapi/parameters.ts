/** A query or path parameter. */
export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly type: 'string' | 'boolean' | 'integer';
  readonly description: string;
}

const query = (name: string, type: Parameter['type'], description: string): Parameter => ({
  name,
  in: 'query',
  type,
  description,
});

const path = (name: string, description: string): Parameter => ({ name, in: 'path', type: 'string', description });

export const nameParameter = path('name', 'Name of the object.');
export const namespaceParameter = path('namespace', 'Namespace of the object.');
export const prettyParameter = query('pretty', 'string', 'If true, the answer is indented.');

const dryRun = query('dryRun', 'string', 'All: do everything but store the result.');
const fieldManager = query('fieldManager', 'string', 'Who makes this change, at most 128 characters.');
const fieldValidation = query(
  'fieldValidation',
  'string',
  'What to do about unknown and duplicate fields: Ignore, Warn (the default) or Strict.',
);
const force = query('force', 'boolean', 'Apply only: take over fields that other managers own.');

/** Of create and update. */
export const writeParameters: readonly Parameter[] = [dryRun, fieldManager, fieldValidation];

/** Of a patch. */
export const patchParameters: readonly Parameter[] = [dryRun, fieldManager, fieldValidation, force];

/** Of a delete. */
export const deleteParameters: readonly Parameter[] = [
  dryRun,
  query('gracePeriodSeconds', 'integer', 'How many seconds the object may take to terminate.'),
  query(
    'ignoreStoreReadErrorWithClusterBreakingPotential',
    'boolean',
    'Deletes an object that cannot be decrypted. One whose record is damaged is deleted without it.',
  ),
  query('orphanDependents', 'boolean', 'Deprecated: use propagationPolicy.'),
  query('propagationPolicy', 'string', 'What becomes of dependents: Orphan, Background or Foreground.'),
];

/** Of list and watch. */
export const listParameters: readonly Parameter[] = [
  query('allowWatchBookmarks', 'boolean', 'Whether a watch may send bookmarks.'),
  query('continue', 'string', 'Where to go on with a list that came in chunks.'),
  query('fieldSelector', 'string', 'Selects objects by their fields.'),
  query('labelSelector', 'string', 'Selects objects by their labels.'),
  query('limit', 'integer', 'The most items to answer with at once.'),
  query('resourceVersion', 'string', 'The revision to read at or watch from.'),
  query('resourceVersionMatch', 'string', 'How resourceVersion is meant: NotOlderThan or Exact.'),
  query('sendInitialEvents', 'boolean', 'Whether a watch starts with the objects there are, ended by a bookmark.'),
  query('timeoutSeconds', 'integer', 'When the request ends.'),
  query('watch', 'boolean', 'Watch for changes instead of listing.'),
];
