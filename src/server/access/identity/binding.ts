import { badRequest, conflict, notFound } from '../../../api/errors.ts';
import type { BoundObjectReference } from '../../../api/kinds/authentication/tokenrequest/kind.ts';
import { nodeKind } from '../../../api/kinds/core/node/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { podKind } from '../../../api/kinds/core/pod/kind.ts';
import { secretKind } from '../../../api/kinds/core/secret/kind.ts';
import type { Kind } from '../../../api/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import type { Lookup } from './bound-objects.ts';
import type { BoundObject, KubernetesClaims } from './claims.ts';

/** The account of a Pod that names none. */
const defaultAccount = 'default';

/**
 * What a token says about the object that it is to be bound to. Throws in Kubernetes' words when there is no such
 * object, when it is another than the reference means, or when the account has nothing to do with it.
 */
export function bindingClaims(
  reference: BoundObjectReference | undefined,
  account: { readonly namespace: string; readonly name: string },
  lookup: Lookup,
): Pick<KubernetesClaims, 'pod' | 'secret' | 'node'> {
  if (reference === undefined) return {};
  const find = (kind: Kind, namespace: string): ApiObject =>
    found(reference, kind, lookup(kind, namespace, reference.name ?? ''));
  switch (`${reference.apiVersion ?? ''}/${reference.kind ?? ''}`) {
    case 'v1/Pod': {
      const pod = find(podKind, account.namespace) as Pod; // what that cache holds
      const own = pod.spec.serviceAccountName ?? '';
      if (account.name !== (own === '' ? defaultAccount : own)) throw foreignPod(account.name);
      return { pod: checked(reference, pod), ...nodeOf(pod.spec.nodeName ?? '', lookup) };
    }
    case 'v1/Secret':
      return { secret: checked(reference, find(secretKind, account.namespace)) };
    case 'v1/Node':
      return { node: checked(reference, find(nodeKind, '')) };
    default:
      throw badRequest(`cannot bind token to object of type ${printedType(reference)}`);
  }
}

function found({ name = '' }: BoundObjectReference, { plural }: Kind, object: ApiObject | undefined): ApiObject {
  if (name === '') throw badRequest('Name parameter required.');
  if (object === undefined) throw notFound({ group: '', resource: plural, name });
  return object;
}

/** The object may have been deleted and made again since the reference was written. */
function checked({ kind = '', uid = '' }: BoundObjectReference, { metadata }: ApiObject): BoundObject {
  const { name = '', uid: actual = '' } = metadata;
  if (uid === '' || uid === actual) return { name, uid: actual };
  throw conflict(
    { group: '', resource: kind, name },
    `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
  );
}

/** Where a Pod runs; a node that is gone is named all the same. */
function nodeOf(name: string, lookup: Lookup): Pick<KubernetesClaims, 'node'> {
  if (name === '') return {};
  const uid = lookup(nodeKind, '', name)?.metadata.uid;
  return { node: { name, ...(uid === undefined ? {} : { uid }) } };
}

const foreignPod = (account: string): Error =>
  badRequest(
    `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
  );

/** As Go prints a group, version and kind. */
function printedType({ apiVersion = '', kind = '' }: BoundObjectReference): string {
  const [first = '', second] = apiVersion.split('/');
  return second === undefined ? `/${first}, Kind=${kind}` : `${first}/${second}, Kind=${kind}`;
}
