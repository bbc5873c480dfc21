/** Names an object that existed when a token was made. */
export interface BoundObject {
  readonly name: string;
  readonly uid: string;
}

/** What a token of a service account says, in the names that Kubernetes gives them. */
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
  /** A node that is gone has no UID in tokens of its Pods. */
  readonly node?: { readonly name: string; readonly uid?: string };
}

/** The name under which a service account acts. */
export const accountUserName = (namespace: string, name: string): string =>
  `system:serviceaccount:${namespace}:${name}`;

/** The groups of every service account in a namespace. */
export const accountGroups = (namespace: string): readonly string[] => [
  'system:serviceaccounts',
  `system:serviceaccounts:${namespace}`,
];

/** The claims of a token whose signature is good; undefined when they are not those of a service account. */
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
  if (!isRecord(value)) return undefined;
  const { namespace, serviceaccount, pod, secret, node } = value;
  if (!isString(namespace) || !isBound(serviceaccount)) return undefined;
  // A reference that cannot be read must not become a token without one.
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

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const isBound = (value: unknown): value is BoundObject =>
  isRecord(value) && isString(value['name']) && isString(value['uid']);

const isNode = (value: unknown): value is { readonly name: string; readonly uid?: string } =>
  isRecord(value) && isString(value['name']) && (value['uid'] === undefined || isString(value['uid']));
