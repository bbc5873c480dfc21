/** A value that does not fit its schema, before it is known where in the object it stands. Never leaves the decoder. */
export class Mismatch extends Error {
  /** Set: the text Go gives is complete without a path, as for times and quantities. */
  readonly complete: boolean;

  /** `text` is either a complete message or `<what was found>|<Go type that was expected>`, see `wrongType`. */
  constructor(text: string, complete: boolean) {
    super(text);
    this.complete = complete;
  }
}

/** What Go's JSON package calls the kind of a value. */
export function goWord(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return typeof value;
}

/** A value of the wrong JSON type. */
export const wrongType = (value: unknown, goType: string): Mismatch =>
  new Mismatch(`${goWord(value)}|${goType}`, false);

/** A number that its Go type cannot hold. */
export const wrongNumber = (value: number, goType: string): Mismatch =>
  new Mismatch(`number ${value}|${goType}`, false);

/** A scalar whose own parser refuses it. */
export const refused = (text: string): Mismatch => new Mismatch(text, true);
