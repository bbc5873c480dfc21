import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';

import { isSignedBy, readCertificates } from '../../pki/renewal.ts';
import type { User } from '../../../api/user.ts';
import { anonymous, authenticated, credentialId } from './users.ts';

/** The result for a connection: a user, no certificate, or a certificate that is not accepted. */
export type CertificateVerdict = User | 'none' | 'refused';

interface CachedVerdict {
  readonly verdict: CertificateVerdict;
  /** The expiry of the certificate, in milliseconds since the epoch. */
  readonly until: number;
  readonly trust: readonly X509Certificate[];
}

/** Authenticates users by the client certificates of their connections. */
export class ClientCertificates {
  readonly #clock: () => number;
  /** Each connection's certificate is parsed once. */
  readonly #bySocket = new WeakMap<object, CachedVerdict>();
  #trust: readonly X509Certificate[];

  /** `ca`: the authorities that are trusted, as PEM. */
  constructor(ca: string, clock: () => number) {
    this.#trust = readCertificates(ca);
    this.#clock = clock;
  }

  /** Replaces the trusted authorities, also for open connections. */
  trust(ca: string): void {
    this.#trust = readCertificates(ca);
  }

  verdictOf(socket: TLSSocket): CertificateVerdict {
    let cached = this.#bySocket.get(socket);
    if (cached === undefined || cached.trust !== this.#trust) {
      cached = this.#read(socket);
      this.#bySocket.set(socket, cached);
    }
    if (cached.until <= this.#clock()) return 'refused';
    return cached.verdict;
  }

  /**
   * The handshake verified a chain, possibly to an authority that is no longer trusted. A trusted authority must have
   * signed the certificate itself: during a rotation, cross certificates would make the certificates of one cluster valid
   * for another.
   */
  #read(socket: TLSSocket): CachedVerdict {
    const trust = this.#trust;
    const certificate = socket.getPeerCertificate();
    if (certificate?.subject === undefined) return { verdict: 'none', until: Infinity, trust };
    const until = Date.parse(certificate.valid_to);
    if (!socket.authorized || !isSignedByAny(new X509Certificate(certificate.raw), trust)) {
      return { verdict: 'refused', until, trust };
    }
    return { verdict: userOf(certificate.subject, certificate.fingerprint256), until, trust };
  }
}

const isSignedByAny = (certificate: X509Certificate, authorities: readonly X509Certificate[]): boolean =>
  authorities.some((authority) => isSignedBy(certificate, authority));

/** The common name is the user and the organisations are the groups. Without a common name the user is anonymous. */
function userOf(subject: NodeJS.Dict<string | string[]>, fingerprint: string): User {
  const name = [subject['CN'] ?? ''].flat().at(-1) ?? '';
  if (name === '') return anonymous;
  return authenticated({
    name,
    uid: '',
    groups: [subject['O'] ?? []].flat(),
    extra: { [credentialId]: [`X509SHA256=${fingerprint.replaceAll(':', '').toLowerCase()}`] },
  });
}
