import { badRequest } from '../../api/errors.ts';

/** Where a list goes on: opaque to clients, in the format of Kubernetes. */
export interface ContinueToken {
  /** The revision all pages are read at; -1: whatever is current. */
  readonly revision: number;
  /** The key to start at, without the resource's prefix. */
  readonly start: string;
}

export const encodeToken = ({ revision, start }: ContinueToken): string =>
  Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start })).toString('base64url');

/** Throws a 400 for anything this server did not write. */
export function decodeToken(text: string): ContinueToken {
  const { v, rv, start } = parse(text);
  if (v !== 'meta.k8s.io/v1' || !Number.isSafeInteger(rv) || rv === 0 || typeof start !== 'string') {
    throw invalidToken();
  }
  if (start === '' || start.startsWith('/') || start.split('/').includes('..')) throw invalidToken();
  return { revision: Number(rv), start };
}

function parse(text: string): Record<string, unknown> {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) throw invalidToken();
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (typeof value === 'object' && value !== null) return { ...value };
  } catch {
    // not JSON: answered like any other token that is not ours
  }
  throw invalidToken();
}

const invalidToken = (): Error =>
  badRequest('invalid continue token: continue key is not valid: start a new list without continue');
