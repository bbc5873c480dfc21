import type { StatusError } from '../../api/errors.ts';
import { badRequest, failure, invalid } from '../../api/errors.ts';
import type { FieldError } from '../../api/field-errors.ts';
import { forbiddenField, notSupported } from '../../api/field-errors.ts';
import { isTrue } from '../request.ts';
import { decodeToken } from './continue-token.ts';

/** The options of list and watch, validated as in Kubernetes. */
export interface ReadOptions {
  /** Undefined if not given. */
  readonly revision: number | undefined;
  readonly match: 'Exact' | 'NotOlderThan' | undefined;
  readonly limit: number;
  readonly continue: string;
  readonly timeoutSeconds: number | undefined;
  readonly bookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
}

/** Parses the options of a list; throws a 422 for contradictory options and a 400 for malformed ones. */
export function parseListOptions(query: URLSearchParams): ReadOptions {
  const options = readOptions(query);
  rejectErrors(listErrors(options, query));
  if (options.continue !== '' && options.revision !== undefined && options.revision > 0) {
    decodeToken(options.continue); // errors of the token take precedence
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  return options;
}

/** Parses the options of a watch; throws like `parseListOptions`. */
export function parseWatchOptions(query: URLSearchParams): ReadOptions {
  const options = readOptions(query);
  rejectErrors(watchErrors(options, query));
  return options;
}

function readOptions(query: URLSearchParams): ReadOptions {
  const match = query.get('resourceVersionMatch') ?? '';
  const sendInitialEvents = query.get('sendInitialEvents');
  return {
    revision: parseRevision(query.get('resourceVersion') ?? ''),
    match: match === 'Exact' || match === 'NotOlderThan' ? match : undefined,
    limit: parseInteger(query.get('limit')) ?? 0,
    continue: query.get('continue') ?? '',
    timeoutSeconds: parseInteger(query.get('timeoutSeconds')),
    bookmarks: isTrue(query.get('allowWatchBookmarks')),
    sendInitialEvents: sendInitialEvents === null ? undefined : isTrue(sendInitialEvents),
  };
}

/** Parses the revision of a request; '' is undefined. */
export function parseRevision(text: string): number | undefined {
  if (text === '') return undefined;
  if (!/^\d{1,16}$/.test(text)) {
    const quoted = JSON.stringify(text);
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`,
    );
  }
  return Number(text);
}

function parseInteger(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (!/^-?\d{1,15}$/.test(text)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  return Number(text);
}

function matchErrors(options: ReadOptions, query: URLSearchParams): FieldError[] {
  const match = query.get('resourceVersionMatch') ?? '';
  if (match === '') return [];
  const errors: FieldError[] = [];
  if (options.revision === undefined) {
    errors.push(
      forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
    );
  }
  if (options.continue !== '') {
    errors.push(forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'));
  }
  if (options.match === undefined)
    errors.push(notSupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']));
  if (options.match === 'Exact' && options.revision === 0) {
    errors.push(
      forbiddenField('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
    );
  }
  return errors;
}

function listErrors(options: ReadOptions, query: URLSearchParams): FieldError[] {
  const errors = matchErrors(options, query);
  if (options.sendInitialEvents !== undefined) {
    errors.push(forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  return errors;
}

function watchErrors(options: ReadOptions, query: URLSearchParams): FieldError[] {
  const match = query.get('resourceVersionMatch') ?? '';
  if (options.continue !== '' && (match === '' || options.sendInitialEvents !== undefined)) {
    return [forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided')];
  }
  if (options.sendInitialEvents === undefined) {
    if (match === '') return [];
    return [
      forbiddenField(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      ),
      ...(match === 'NotOlderThan' ? [] : [notSupported('resourceVersionMatch', match, ['NotOlderThan'])]),
    ];
  }
  if (match === 'NotOlderThan') return [];
  return [
    forbiddenField('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
    ...(match === '' ? [] : [notSupported('resourceVersionMatch', match, ['NotOlderThan'])]),
  ];
}

function rejectErrors(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', resource: 'ListOptions', name: '' }, errors);
}

/** The error when the cache does not reach the requested revision in time. */
export const revisionTooLarge = (revision: number, current: number): StatusError =>
  failure({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: Too large resource version: ${revision}, current: ${current}`,
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  });
