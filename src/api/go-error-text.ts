import { joinHostPort } from './addresses.ts';
import { codeOf, messageOf } from './error-message.ts';

/** The text that Go's HTTP client has for a failed connection, which clients and their users search for. */
export function goErrorText(error: unknown): string {
  switch (codeOf(error)) {
    case 'ECONNREFUSED':
      return `dial tcp ${dialled(error)}: connect: connection refused`;
    case 'EHOSTUNREACH':
      return `dial tcp ${dialled(error)}: connect: no route to host`;
    case 'ENETUNREACH':
      return `dial tcp ${dialled(error)}: connect: network is unreachable`;
    case 'ETIMEDOUT':
      return `dial tcp ${dialled(error)}: i/o timeout`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `dial tcp: lookup ${dialled(error)}: no such host`;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return 'tls: failed to verify certificate: x509: certificate signed by unknown authority';
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return 'tls: failed to verify certificate: x509: certificate has expired or is not yet valid';
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `tls: failed to verify certificate: x509: ${messageOf(error)}`;
    default:
      return messageOf(error);
  }
}

/** The address of a failed connection. */
function dialled(error: unknown): string {
  const { address, hostname, port } = error as { address?: string; hostname?: string; port?: number };
  const host = address ?? hostname ?? '';
  return port === undefined ? host : joinHostPort(host, port);
}
