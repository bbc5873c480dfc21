import { createHash } from 'node:crypto';

/** A document that depends only on the served kinds. */
export interface Document {
  readonly body: string;
  /** Quoted, as in the header. */
  readonly etag: string;
  readonly contentType: string;
}

/** SHA-512 in upper-case hex, the form of Kubernetes' ETags and OpenAPI hashes. */
export const hashOf = (text: string): string => createHash('sha512').update(text).digest('hex').toUpperCase();

/** The document of a JSON value. */
export const jsonDocument = (value: unknown, contentType = 'application/json'): Document =>
  textDocument(`${JSON.stringify(value)}\n`, contentType);

/** The document of JSON text. */
export const textDocument = (body: string, contentType = 'application/json'): Document => ({
  body,
  etag: `"${hashOf(body)}"`,
  contentType,
});

/** Memoizes a function of a list and a key. */
export function memoizePer<List extends object, Result>(
  compute: (list: List, key: string) => Result,
): (list: List, key: string) => Result {
  const known = new WeakMap<List, Map<string, Result>>();
  return (list, key) => {
    const results = known.get(list) ?? new Map<string, Result>();
    known.set(list, results);
    const result = results.has(key) ? (results.get(key) as Result) : compute(list, key);
    results.set(key, result);
    return result;
  };
}
