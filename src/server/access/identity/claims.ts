import { isJsonObject } from '../../../api/schema/json-object.ts';

/** A reference to an object that existed when the token was issued. */
export interface BoundObject {
  readonly name: string;
  readonly uid: string;
}

/** The claims of a service account token, with Kubernetes' names. */
export interface TokenClaims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: readonly string[];
  /** Seconds since the epoch, as are `iat` and `nbf`. */
  readonly exp: number;
  readonly iat: number;
  readonly nbf: number;
  readonly jti: string;
  readonly 'kubernetes.io': KubernetesClaims;
}

export interface KubernetesClaims {
  readonly namespace: string;
  readonly serviceaccount: BoundObject;
  readonly pod?: BoundObject;
  readonly secret?: BoundObject;
  /** Without a UID in tokens of Pods whose node no longer exists. */
  readonly node?: { readonly name: string; readonly uid?: string };
}

/** The user name of a service account. */
export const accountUserName = (namespace: string, name: string): string =>
  `system:serviceaccount:${namespace}:${name}`;

/** The groups of every service account in a namespace. */
export const accountGroups = (namespace: string): readonly string[] => [
  'system:serviceaccounts',
  `system:serviceaccounts:${namespace}`,
];

/** Reads the claims of a token with a valid signature; undefined if they are not those of a service account. */
export function readClaims(payload: Readonly<Record<string, unknown>>): TokenClaims | undefined {
  const { iss, sub, aud, exp, iat, nbf, jti, 'kubernetes.io': own } = payload;
  const kubernetes = readKubernetes(own);
  const audiences = typeof aud === 'string' ? [aud] : aud;
  if (typeof iss !== 'string' || typeof sub !== 'string' || typeof jti !== 'string') return undefined;
  if (typeof exp !== 'number' || typeof iat !== 'number' || typeof nbf !== 'number') return undefined;
  if (!Array.isArray(audiences) || !audiences.every(isString) || kubernetes === undefined) return undefined;
  if (sub !== accountUserName(kubernetes.namespace, kubernetes.serviceaccount.name)) return undefined;
  return { iss, sub, aud: audiences, exp, iat, nbf, jti, 'kubernetes.io': kubernetes };
}

function readKubernetes(value: unknown): KubernetesClaims | undefined {
  if (!isJsonObject(value)) return undefined;
  const { namespace, serviceaccount, pod, secret, node } = value;
  if (!isString(namespace) || !isBound(serviceaccount)) return undefined;
  // A malformed reference must not yield an unbound token.
  if ((pod !== undefined && !isBound(pod)) || (secret !== undefined && !isBound(secret))) return undefined;
  if (node !== undefined && !isNode(node)) return undefined;
  return {
    namespace,
    serviceaccount,
    ...(pod === undefined ? {} : { pod }),
    ...(secret === undefined ? {} : { secret }),
    ...(node === undefined ? {} : { node }),
  };
}

const isString = (value: unknown): value is string => typeof value === 'string';

const isBound = (value: unknown): value is BoundObject =>
  isJsonObject(value) && isString(value['name']) && isString(value['uid']);

const isNode = (value: unknown): value is { readonly name: string; readonly uid?: string } =>
  isJsonObject(value) && isString(value['name']) && (value['uid'] === undefined || isString(value['uid']));
