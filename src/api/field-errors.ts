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

/** Prints a value as Kubernetes does: strings quoted, numbers and booleans bare, the rest as JSON. */
const printed = (value: unknown): string => JSON.stringify(value ?? null);

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

/** The causes of a 422, one an error. */
export const causesOf = (errors: readonly FieldError[]): StatusCause[] =>
  errors.map(({ path, reason, body }) => ({ reason, message: body, field: path }));

/** The errors as one text: bare when there is one, else in brackets without repetitions. */
export function joinErrors(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(({ path, body }) => `${path}: ${body}`))];
  return texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
}
