import { nodeKind } from '../../../api/kinds/core/node/kind.ts';
import { podKind } from '../../../api/kinds/core/pod/kind.ts';
import { secretKind } from '../../../api/kinds/core/secret/kind.ts';
import { serviceAccountKind } from '../../../api/kinds/core/serviceaccount/kind.ts';
import type { Kind } from '../../../api/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { KubernetesClaims } from './claims.ts';

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
