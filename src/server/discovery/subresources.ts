import type { Kind } from '../../api/kind.ts';
import { tokenRequest } from '../../api/kinds/authentication/tokenrequest/kind.ts';
import type { StructSchema } from '../../api/schema/schema.ts';

/** An endpoint below an object, such as `services/status`. */
export interface Subresource {
  readonly name: string;
  readonly verbs: readonly ('create' | 'get' | 'patch' | 'update')[];
  /** The kind it takes and answers with, where that is not the object's own. */
  readonly responseKind?: { readonly group: string; readonly version: string; readonly kind: string };
  /** The schema of that kind. */
  readonly schema?: StructSchema;
}

const status: Subresource = { name: 'status', verbs: ['get', 'patch', 'update'] };
const finalize: Subresource = { name: 'finalize', verbs: ['update'] };
const token: Subresource = {
  name: 'token',
  verbs: ['create'],
  responseKind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
  schema: tokenRequest,
};

/** The subresources of a kind, by name. */
export function subresourcesOf(kind: Kind): readonly Subresource[] {
  const isCore = kind.group === '';
  return [
    ...(isCore && kind.plural === 'namespaces' ? [finalize] : []),
    ...(kind.hasStatus ? [status] : []),
    ...(isCore && kind.plural === 'serviceaccounts' ? [token] : []),
  ];
}
