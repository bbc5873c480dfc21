import { truncate } from './text.ts';

/** One entry of a Status' `details.causes`. */
export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** One validation error of one field, worded as in Kubernetes: `path` (`spec.ports[0].port`), then `body`. */
export interface FieldError {
  readonly path: string;
  readonly reason: FieldReason;
  readonly body: string;
}

export type FieldReason =
  | 'FieldValueRequired'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueDuplicate'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueNotFound'
  | 'FieldValueTypeInvalid'
  | 'InternalError';

/** Longer values, such as a whole patch, are truncated in errors. */
const maxShown = 4096;
/** A response lists no more errors than this. */
const maxListed = 100;

/** Prints a value as JSON, truncated. */
const printed = (value: unknown): string =>
  truncate(JSON.stringify(typeof value === 'string' ? truncate(value, maxShown) : (value ?? null)), maxShown);

const withDetail = (start: string, detail: string): string => (detail === '' ? start : `${start}: ${detail}`);

export const required = (path: string, detail = ''): FieldError => ({
  path,
  reason: 'FieldValueRequired',
  body: withDetail('Required value', detail),
});

export const invalidValue = (path: string, value: unknown, detail: string): FieldError => ({
  path,
  reason: 'FieldValueInvalid',
  body: withDetail(`Invalid value: ${printed(value)}`, detail),
});

export const typeInvalid = (path: string, value: unknown, detail: string): FieldError => ({
  ...invalidValue(path, value, detail),
  reason: 'FieldValueTypeInvalid',
});

/** One error for each message. */
export const invalidAll = (path: string, value: unknown, messages: readonly string[]): FieldError[] =>
  messages.map((message) => invalidValue(path, value, message));

/** `words` are listed in the order given. */
export const notSupported = (path: string, value: unknown, words: readonly string[]): FieldError => ({
  path,
  reason: 'FieldValueNotSupported',
  body: `Unsupported value: ${printed(value)}: supported values: ${words.map(printed).join(', ')}`,
});

export const duplicate = (path: string, value: unknown): FieldError => ({
  path,
  reason: 'FieldValueDuplicate',
  body: `Duplicate value: ${printed(value)}`,
});

export const notFound = (path: string, name: string): FieldError => ({
  path,
  reason: 'FieldValueNotFound',
  body: `Not found: ${printed(name)}`,
});

export const forbiddenField = (path: string, detail: string): FieldError => ({
  path,
  reason: 'FieldValueForbidden',
  body: withDetail('Forbidden', detail),
});

export const tooLong = (path: string, maxBytes: number): FieldError => ({
  path,
  reason: 'FieldValueTooLong',
  body: `Too long: may not be more than ${maxBytes} bytes`,
});

export const tooMany = (path: string, actual: number, max: number): FieldError => ({
  path,
  reason: 'FieldValueTooMany',
  body: `Too many: ${actual}: must have at most ${max} ${max === 1 ? 'item' : 'items'}`,
});

/** The causes of a 422: the first 100 errors, then the number of the others. */
export function causesOf(errors: readonly FieldError[]): StatusCause[] {
  const causes = errors.slice(0, maxListed).map(({ path, reason, body }): StatusCause => ({
    reason,
    message: truncate(body, 2 * maxShown),
    field: truncate(path),
  }));
  if (errors.length > maxListed) causes.push({ message: moreErrors(errors) });
  return causes;
}

const moreErrors = (errors: readonly FieldError[]): string => `${errors.length - maxListed} more errors are not listed`;

/** The first 100 errors as one text without repetitions: in brackets if there are several. */
export function joinErrors(errors: readonly FieldError[]): string {
  const texts = [
    ...new Set(
      errors.slice(0, maxListed).map(({ path, body }) => `${truncate(path)}: ${truncate(body, 2 * maxShown)}`),
    ),
  ];
  if (errors.length > maxListed) texts.push(moreErrors(errors));
  return texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
}
