import { cut } from './cut.ts';

/** One entry of a Status' `details.causes`. */
export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** One thing wrong with one field, in Kubernetes' words. `path` is `spec.ports[0].port`; `body` follows it. */
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

/** The longest value that an error shows, such as a whole patch; the most errors that an answer lists. */
const maxShown = 4096;
const maxListed = 100;

/** Prints a value as Kubernetes does: strings quoted, numbers and booleans bare, the rest as JSON. */
const printed = (value: unknown): string =>
  cut(JSON.stringify(typeof value === 'string' ? cut(value, maxShown) : (value ?? null)), maxShown);

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
  body: `Too many: ${actual}: must have at most ${max} items`,
});

/** The causes of a 422, one for each of the first 100 errors; the last states how many there are beyond that. */
export function causesOf(errors: readonly FieldError[]): StatusCause[] {
  const causes = errors
    .slice(0, maxListed)
    .map(({ path, reason, body }): StatusCause => ({ reason, message: cut(body, 2 * maxShown), field: cut(path) }));
  if (errors.length > maxListed) causes.push({ message: moreErrors(errors) });
  return causes;
}

const moreErrors = (errors: readonly FieldError[]): string => `${errors.length - maxListed} more errors are not listed`;

/** The first 100 errors as one text: bare when there is one, else in brackets without repetitions. */
export function joinErrors(errors: readonly FieldError[]): string {
  const texts = [
    ...new Set(errors.slice(0, maxListed).map(({ path, body }) => `${cut(path)}: ${cut(body, 2 * maxShown)}`)),
  ];
  if (errors.length > maxListed) texts.push(moreErrors(errors));
  return texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
}
