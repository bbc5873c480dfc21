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

/** The account of Pods without `serviceAccountName`. */
const defaultAccount = 'default';

/**
 * The claims about the object that a token is bound to. Throws with the messages of Kubernetes if the object does not
 * exist, has another UID than the reference, or does not belong to the account.
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
      const pod = find(podKind, account.namespace) as Pod; // the kind is that of Pods
      const own = pod.spec.serviceAccountName ?? '';
      if (account.name !== (own === '' ? defaultAccount : own)) throw otherAccount(account.name);
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

/** The object may have been recreated since the reference was written. */
function checked({ kind = '', uid = '' }: BoundObjectReference, { metadata }: ApiObject): BoundObject {
  const { name = '', uid: actual = '' } = metadata;
  if (uid === '' || uid === actual) return { name, uid: actual };
  throw conflict(
    { group: '', resource: kind, name },
    `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
  );
}

/** The node of a Pod; without a UID if the node no longer exists. */
function nodeOf(name: string, lookup: Lookup): Pick<KubernetesClaims, 'node'> {
  if (name === '') return {};
  const uid = lookup(nodeKind, '', name)?.metadata.uid;
  return { node: { name, ...(uid === undefined ? {} : { uid }) } };
}

const otherAccount = (account: string): Error =>
  badRequest(
    `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
  );

/** Prints a group, version and kind as Go does. */
function printedType({ apiVersion = '', kind = '' }: BoundObjectReference): string {
  const [first = '', second] = apiVersion.split('/');
  return second === undefined ? `/${first}, Kind=${kind}` : `${first}/${second}, Kind=${kind}`;
}
