import { nodeKind } from '../../../api/kinds/core/node/kind.ts';
import { podKind } from '../../../api/kinds/core/pod/kind.ts';
import { secretKind } from '../../../api/kinds/core/secret/kind.ts';
import { serviceAccountKind } from '../../../api/kinds/core/serviceaccount/kind.ts';
import type { Kind } from '../../../api/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import { badRequest, conflict, notFound } from '../../../api/errors.ts';
import type { BoundObjectReference } from '../../../api/kinds/authentication/tokenrequest/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import type { BoundObject, KubernetesClaims } from './claims.ts';

/** Returns an object by kind, namespace ('' for nodes) and name. */
export type Lookup = (kind: Kind, namespace: string, name: string) => ApiObject | undefined;

/** A lookup in the watch cache. */
export const lookupIn =
  (watchCache: WatchCache): Lookup =>
  (kind, namespace, name) => {
    const cache = watchCache.of(kind);
    return cache.get(cache.key(namespace, name))?.object;
  };

/** Terminating objects stay valid for this long, as in Kubernetes. */
const deletionLeewayMs = 60_000;
const invalidated = 'service account token has been invalidated';

/**
 * The error of Kubernetes if a token is no longer valid: the account and the bound objects must exist with the UIDs that
 * the token names. Undefined if it is valid.
 */
export function boundObjectError(claims: KubernetesClaims, lookup: Lookup, now: number): string | undefined {
  const { namespace, serviceaccount, pod, secret, node } = claims;
  const account = lookup(serviceAccountKind, namespace, serviceaccount.name);
  if (account === undefined) return `serviceaccounts "${serviceaccount.name}" not found`;
  if (isGone(account, now)) return `service account ${namespace}/${serviceaccount.name} has been deleted`;
  if (account.metadata.uid !== serviceaccount.uid) {
    return `service account UID (${account.metadata.uid ?? ''}) does not match claim (${serviceaccount.uid})`;
  }
  const check = (kind: Kind, where: string, bound: { readonly name: string; readonly uid?: string }, word: string) => {
    const object = lookup(kind, where, bound.name);
    if (object === undefined || isGone(object, now)) return invalidated;
    if (object.metadata.uid === bound.uid) return undefined;
    return `${word} UID (${object.metadata.uid ?? ''}) does not match service account ${word} ref claim (${bound.uid ?? ''})`;
  };
  return (
    (secret === undefined ? undefined : check(secretKind, namespace, secret, 'secret')) ??
    (pod === undefined ? undefined : check(podKind, namespace, pod, 'pod')) ??
    // The node of a Pod is only informative.
    (node === undefined || pod !== undefined ? undefined : check(nodeKind, '', node, 'node'))
  );
}

function isGone({ metadata }: ApiObject, now: number): boolean {
  const { deletionTimestamp } = metadata;
  return deletionTimestamp !== undefined && Date.parse(deletionTimestamp) < now - deletionLeewayMs;
}

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
