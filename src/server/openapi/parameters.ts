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
export const prettyParameter = query('pretty', 'string', 'If true, the output is indented.');

const dryRun = query('dryRun', 'string', 'All: process the request without storing the result.');
const fieldManager = query(
  'fieldManager',
  'string',
  'The name of the client that makes this change, at most 128 characters.',
);
const fieldValidation = query(
  'fieldValidation',
  'string',
  'How to treat unknown and duplicate fields: Ignore, Warn (the default) or Strict.',
);
const force = query('force', 'boolean', 'Apply only: take ownership of fields that other managers own.');

/** Parameters of create and update. */
export const writeParameters: readonly Parameter[] = [dryRun, fieldManager, fieldValidation];

/** Parameters of patch. */
export const patchParameters: readonly Parameter[] = [dryRun, fieldManager, fieldValidation, force];

/** Parameters of delete. */
export const deleteParameters: readonly Parameter[] = [
  dryRun,
  query('gracePeriodSeconds', 'integer', 'Seconds that the object may take to terminate.'),
  query(
    'ignoreStoreReadErrorWithClusterBreakingPotential',
    'boolean',
    'Delete an object that cannot be decrypted. An object whose record is damaged is deleted without it.',
  ),
  query('orphanDependents', 'boolean', 'Deprecated: use propagationPolicy.'),
  query('propagationPolicy', 'string', 'How dependents are deleted: Orphan, Background or Foreground.'),
];

/** Parameters of list and watch. */
export const listParameters: readonly Parameter[] = [
  query('allowWatchBookmarks', 'boolean', 'Whether the watch may send bookmarks.'),
  query('continue', 'string', 'The continue token of the previous chunk.'),
  query('fieldSelector', 'string', 'Restricts the list of returned objects by their fields.'),
  query('labelSelector', 'string', 'Restricts the list of returned objects by their labels.'),
  query('limit', 'integer', 'The maximum number of items to return.'),
  query('resourceVersion', 'string', 'The revision to read at or watch from.'),
  query('resourceVersionMatch', 'string', 'How resourceVersion is applied: NotOlderThan or Exact.'),
  query('sendInitialEvents', 'boolean', 'Whether the watch starts with the existing objects, followed by a bookmark.'),
  query('timeoutSeconds', 'integer', 'Seconds after which the request ends.'),
  query('watch', 'boolean', 'Watch for changes to the described resources instead of listing them.'),
];
