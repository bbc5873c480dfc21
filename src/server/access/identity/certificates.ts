import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';

import { isSignedBy, readCertificates } from '../../pki/renewal.ts';
import type { User } from '../../reply.ts';
import { anonymous, authenticated, credentialId } from './verdict.ts';

/** What the certificate of a connection says: a user, nothing at all, or something that cannot be believed. */
export type CertificateVerdict = User | 'none' | 'refused';

interface Held {
  readonly verdict: CertificateVerdict;
  /** When the certificate expires. */
  readonly until: number;
  readonly trust: readonly X509Certificate[];
}

/** Tells users by the client certificates of their connections. */
export class ClientCertificates {
  readonly #clock: () => number;
  /** A connection keeps its certificate, so it is read once. */
  readonly #bySocket = new WeakMap<object, Held>();
  #trust: readonly X509Certificate[];

  /** `ca`: the authorities that are trusted, as PEM. */
  constructor(ca: string, clock: () => number) {
    this.#trust = readCertificates(ca);
    this.#clock = clock;
  }

  /** Trusts these authorities from now on, also for connections that are open. */
  trust(ca: string): void {
    this.#trust = readCertificates(ca);
  }

  verdictOf(socket: TLSSocket): CertificateVerdict {
    let held = this.#bySocket.get(socket);
    if (held === undefined || held.trust !== this.#trust) {
      held = this.#read(socket);
      this.#bySocket.set(socket, held);
    }
    if (held.until <= this.#clock()) return 'refused';
    return held.verdict;
  }

  /**
   * The handshake checked a chain, perhaps to an authority that is trusted no more. One of today's must have signed the
   * certificate itself: while authorities are rotated, links between them would make a certificate of one cluster
   * acceptable to another.
   */
  #read(socket: TLSSocket): Held {
    const trust = this.#trust;
    const certificate = socket.getPeerCertificate();
    if (certificate?.subject === undefined) return { verdict: 'none', until: Infinity, trust };
    const until = Date.parse(certificate.valid_to);
    if (!socket.authorized || !isIssuedByOne(new X509Certificate(certificate.raw), trust)) {
      return { verdict: 'refused', until, trust };
    }
    return { verdict: userOf(certificate.subject, certificate.fingerprint256), until, trust };
  }
}

const isIssuedByOne = (certificate: X509Certificate, authorities: readonly X509Certificate[]): boolean =>
  authorities.some((authority) => isSignedBy(certificate, authority));

/** The common name is the user and the organisations are the groups. Without a name there is nobody: anonymous. */
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
