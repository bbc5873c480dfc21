// The Secret of a ClusterMember: a kubeconfig.
import { X509Certificate } from 'node:crypto';
import { messageOf } from '../../api/error-message.ts';
import { kubeconfigKey } from '../../api/kinds/multicluster/clustermember/kind.ts';
import type { ClusterMember } from '../../api/kinds/multicluster/clustermember/schema.ts';
import type { Secret } from '../../api/kinds/core/secret/schema.ts';
import type { EmbeddedAccess } from '../../client/kubeconfig.ts';
import { embeddedAccess } from '../../client/kubeconfig.ts';
import type { TokenClaims } from './token.ts';
import { claimsOf } from './token.ts';

/** Usable credentials of a member, or why there are none. */
export type MemberAccess = UsableAccess | { readonly problem: AccessProblem };

export interface UsableAccess {
  readonly problem?: undefined;
  readonly access: EmbeddedAccess;
  /** The kubeconfig, to write it with another token. */
  readonly content: string;
  /** Of a token that can be renewed. */
  readonly claims: TokenClaims | undefined;
  /** When the credentials expire, in milliseconds since 1970; undefined: never, or unknown. */
  readonly expiresAtMs: number | undefined;
}

export interface AccessProblem {
  readonly reason: 'SecretNotFound' | 'InvalidKubeconfig';
  readonly message: string;
}

/** Reads the Secret that a member refers to; `secret` is undefined if it does not exist. Never rejects. */
export async function accessOf(
  { metadata: { namespace = '' }, spec: { secretRef, context } }: ClusterMember,
  secret: Secret | undefined,
): Promise<MemberAccess> {
  const source = `Secret ${namespace}/${secretRef.name}`;
  if (secret === undefined) return { problem: { reason: 'SecretNotFound', message: `${source} does not exist` } };
  const data = secret.data?.[kubeconfigKey];
  const invalid = (message: string): MemberAccess => ({ problem: { reason: 'InvalidKubeconfig', message } });
  if (data === undefined) return invalid(`${source} has no key "${kubeconfigKey}"`);
  const content = Buffer.from(data, 'base64').toString();
  try {
    const access = await embeddedAccess(content, { source: `${source}, key ${kubeconfigKey}`, context });
    const { token, cert } = access.embedded;
    const claims = claimsOf(token);
    return {
      access,
      content,
      claims,
      expiresAtMs: claims?.expiresAtMs ?? (cert === undefined ? undefined : notAfter(cert)),
    };
  } catch (error) {
    return invalid(messageOf(error));
  }
}

function notAfter(cert: string): number | undefined {
  try {
    return new X509Certificate(cert).validToDate.getTime();
  } catch {
    return undefined; // the connection fails with the reason
  }
}

/** Identifies the server of a member: credentials and authorities may change without a new connection, the server may not. */
export const serverOf = ({ access: { server, tlsServerName, insecureSkipTlsVerify } }: UsableAccess): string =>
  JSON.stringify([server, tlsServerName, insecureSkipTlsVerify]);
