// The certificates by which gateways of a cluster set identify their clusters to each other.
import { X509Certificate } from 'node:crypto';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { createSecureContext } from 'node:tls';

import { clusterIdErrors } from '../api/kinds/multicluster/cluster-id.ts';

/** The certificate and key of a cluster's gateway, and the authorities of the set, PEM. */
export interface GatewayTls {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** The protocols of sessions: the dialling gateway opens streams, or the accepting one does. */
export const alpn = { forward: 'fairlead-gateway', reverse: 'fairlead-gateway-reverse' } as const;

/** Headers of a stream. */
export const headerNames = { port: 'fairlead-port', client: 'fairlead-client' } as const;

/** The cluster that the files identify. Throws if they identify none, or if the key is not that of the certificate. */
export function clusterOfFiles({ cert, key, ca }: GatewayTls): string {
  createSecureContext({ cert, key, ca });
  const name = /(?:^|\n)CN=(.*)/.exec(new X509Certificate(cert).subject)?.[1] ?? '';
  const [problem] = clusterIdErrors(name);
  if (problem !== undefined)
    throw new Error(`the common name "${name}" of the certificate is not a cluster ID: ${problem}`);
  return name;
}

/** The cluster that a certificate identifies; undefined: none. */
export function clusterOf({ subject }: Pick<PeerCertificate, 'subject'>): string | undefined {
  const { CN: name } = subject ?? {};
  return typeof name === 'string' && clusterIdErrors(name).length === 0 ? name : undefined;
}

/** The cluster at the other end of an authenticated connection. */
export const peerOf = (socket: TLSSocket): string | undefined => clusterOf(socket.getPeerCertificate());

/** Accepts only the certificate of one cluster. */
export const onlyCluster =
  (cluster: string) =>
  (_: string, certificate: PeerCertificate): Error | undefined => {
    const found = clusterOf(certificate);
    if (found === cluster) return undefined;
    return new Error(
      `its certificate is of ${found === undefined ? 'no cluster' : `cluster ${found}`}, expected cluster ${cluster}`,
    );
  };
