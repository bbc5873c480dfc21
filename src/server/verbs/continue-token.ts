import { badRequest } from '../../api/errors.ts';
import type { JsonObject } from '../../api/schema/json-object.ts';
import { isJsonObject } from '../../api/schema/json-object.ts';
import { JsonError, parseJson } from '../../api/schema/json.ts';
import { goTypeName } from '../../api/schema/mismatch.ts';

/** The position of the next page of a list, in the format of Kubernetes; opaque to clients. */
export interface ContinueToken {
  /** The revision of all pages; -1 means the current one. */
  readonly revision: number;
  /** The key to start at, without the prefix of the resource. */
  readonly start: string;
}

export const encodeToken = ({ revision, start }: ContinueToken): string =>
  Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start })).toString('base64url');

/** Throws Kubernetes' 400 for an invalid token. */
export function decodeToken(text: string): ContinueToken {
  const { v, rv, start } = parse(text);
  if (v !== 'meta.k8s.io/v1')
    throw invalidToken(`server does not recognize this encoded version ${typeof v === 'string' ? v : ''}`);
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv === 0) {
    throw invalidToken('incorrect encoded start resourceVersion (version meta.k8s.io/v1)');
  }
  if (typeof start !== 'string' || start === '') {
    throw invalidToken('encoded start key empty (version meta.k8s.io/v1)');
  }
  if (start.startsWith('/') || start.split('/').includes('..')) throw invalidToken(start);
  return { revision: rv, start };
}

function parse(text: string): JsonObject {
  const bad = text.search(/[^A-Za-z0-9_-]/);
  const isTruncated = text.length % 4 === 1; // a single character encodes no byte
  if (bad >= 0 || isTruncated)
    throw invalidToken(`illegal base64 data at input byte ${bad >= 0 ? bad : text.length - 1}`);
  try {
    const { value } = parseJson(Buffer.from(text, 'base64url').toString());
    if (isJsonObject(value)) return value;
    throw invalidToken(`json: cannot unmarshal ${goTypeName(value)} into Go value of type storage.continueToken`);
  } catch (error) {
    if (error instanceof JsonError) throw invalidToken(error.message);
    throw error;
  }
}

const invalidToken = (why: string): Error => badRequest(`invalid continue token: continue key is not valid: ${why}`);
