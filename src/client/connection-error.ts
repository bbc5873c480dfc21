// Errors of requests to an API server that cannot be used, for logs and messages.
import { codeOf, messageOf } from '../api/error-message.ts';
import { hasStatusCode } from './transport.ts';

/**
 * Whether no request to the server can succeed: nothing answers, its name, certificate or kubeconfig is wrong, or it rejects
 * the credentials.
 */
export function isUnusableServer(error: unknown): boolean {
  if (hasStatusCode(error, 401) || (error instanceof DOMException && error.name === 'TimeoutError')) return true;
  const code = codeOf(error);
  return isSystem(code) || isUnresolved(code) || isUntrusted(code) || isMisconfigured(code);
}

export const credentialsRejected = 'it rejects the credentials (401)';

/** Why a server cannot be used, in plain words. */
export function connectionReason(error: unknown): string {
  const [code, message] = [codeOf(error), messageOf(error)];
  if (hasStatusCode(error, 401)) return credentialsRejected;
  if (isUnresolved(code)) return `its host name cannot be resolved (${message})`;
  if (isUntrusted(code)) return `its certificate is not trusted (${message}): check certificate-authority and server`;
  // Node appends the address that the connection would have had.
  return message.split(' - Local (', 1)[0] || code || 'no answer';
}

/** ECONNREFUSED, ETIMEDOUT and their like. */
const isSystem = (code: string): boolean => /^E[A-Z]+$/.test(code);

const isUnresolved = (code: string): boolean => code === 'ENOTFOUND' || code === 'EAI_AGAIN';

/** Codes of certificates that OpenSSL or Node does not accept, such as SELF_SIGNED_CERT_IN_CHAIN. */
const isUntrusted = (code: string): boolean => /CERT|_SIGNATURE$|^HOSTNAME_MISMATCH$|^INVALID_CA$/.test(code);

/** The code of a KubeconfigError. */
const isMisconfigured = (code: string): boolean => code === 'USAGE';
