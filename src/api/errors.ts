import type { FieldError, StatusCause } from './field-errors.ts';
import { truncate } from './text.ts';
import { causesOf, joinErrors } from './field-errors.ts';

/** Kubernetes' `Status`, the body of every failed request. */
export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: { readonly continue?: string };
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** An error that API clients receive as a `Status`; identified by `code`. */
export class StatusError extends Error {
  readonly code = 'STATUS';
  readonly status: Status;

  constructor(status: Status) {
    super(status.message ?? status.reason ?? 'failure');
    this.status = status;
  }
}

/** The subject of a message and its details: a resource (`services`) or a kind (`Service`) with its group. */
export interface Subject {
  readonly group: string;
  readonly resource: string;
  readonly name?: string;
}

interface Failure {
  readonly code: number;
  readonly reason?: string;
  readonly message: string;
  readonly details?: StatusDetails;
}

/** An error with the given code, reason and message. */
export function failure({ code, reason, message, details }: Failure): StatusError {
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...(reason === undefined ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  });
}

const qualified = ({ group, resource }: Subject): string => (group === '' ? resource : `${resource}.${group}`);

/** A name as Go's %q prints it. */
const quoted = ({ name = '' }: Subject): string => JSON.stringify(truncate(name));

const detailsOf = ({ group, resource, name }: Subject): StatusDetails => ({
  ...(name === undefined || name === '' ? {} : { name: truncate(name) }),
  ...(group === '' ? {} : { group }),
  ...(resource === '' ? {} : { kind: resource }),
});

export const notFound = (subject: Subject): StatusError =>
  failure({
    code: 404,
    reason: 'NotFound',
    message: `${qualified(subject)} ${quoted(subject)} not found`,
    details: detailsOf(subject),
  });

export const alreadyExists = (subject: Subject, prefix = ''): StatusError =>
  failure({
    code: 409,
    reason: 'AlreadyExists',
    message: `${prefix}${qualified(subject)} ${quoted(subject)} already exists`,
    details: detailsOf(subject),
  });

/** The message of the conflict when an update is based on an old revision. */
export const staleObject =
  'the object has been modified; please apply your changes to the latest version and try again';

export const conflict = (subject: Subject, why: string): StatusError =>
  failure({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${qualified(subject)} ${quoted(subject)}: ${why}`,
    details: detailsOf(subject),
  });

export const forbidden = (subject: Subject, why: string, causes: readonly StatusCause[] = []): StatusError =>
  failure({
    code: 403,
    reason: 'Forbidden',
    message: `${qualified(subject)}${subject.name === undefined ? '' : ` ${quoted(subject)}`} is forbidden: ${why}`,
    details: { ...detailsOf(subject), ...(causes.length > 0 ? { causes } : {}) },
  });

/** A 422 with the field errors; `subject.resource` is the kind here, as in Kubernetes. */
export const invalid = (subject: Subject, errors: readonly FieldError[]): StatusError =>
  failure({
    code: 422,
    reason: 'Invalid',
    message: `${qualified(subject)} ${quoted(subject)} is invalid: ${joinErrors(errors)}`,
    details: { ...detailsOf(subject), causes: causesOf(errors) },
  });

export const badRequest = (message: string): StatusError => failure({ code: 400, reason: 'BadRequest', message });

/** A 413: the request, or the object it results in, exceeds a limit. */
export const entityTooLarge = (why: string): StatusError =>
  failure({ code: 413, reason: 'RequestEntityTooLarge', message: `Request entity too large: ${why}` });

export const internalError = (message: string): StatusError =>
  failure({
    code: 500,
    reason: 'InternalError',
    message: `Internal error occurred: ${message}`,
    details: { causes: [{ message }] },
  });

export const isStatusError = (error: unknown): error is StatusError => error instanceof StatusError;

/** Whether the error is a 404. */
export const isNotFound = (error: unknown): boolean => isStatusError(error) && error.status.code === 404;

/** The result of a request, or undefined if it fails because the object does not exist. */
export const ignoreNotFound = <T>(request: Promise<T>): Promise<T | undefined> =>
  request.catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });

/** A 500 that clients retry: too many write conflicts, or the watch cache did not observe a write in time. */
export const serverTimeout = (operation: string, { group, resource, name }: Subject): StatusError =>
  failure({
    code: 500,
    reason: 'ServerTimeout',
    message: `The ${operation} operation against ${qualified({ group, resource })} could not be completed at this time, please try again.`,
    details: { ...detailsOf({ group, resource, ...(name === undefined ? {} : { name }) }), retryAfterSeconds: 2 },
  });
