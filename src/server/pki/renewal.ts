import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KeyPair, Subject, SubjectNames } from './issue.ts';

/** A certificate is renewed when less than this part of its lifetime is left. */
const renewalShare = 0.25;

/**
 * Returns the reason to issue a certificate again, for the log; undefined if it is valid. Without a `subject` it is the
 * certificate authority itself.
 */
export function renewalReason(
  pair: KeyPair | undefined,
  wanted: { readonly ca: string | undefined; readonly subject: Subject | undefined },
  now: Date,
): string | undefined {
  if (pair === undefined) return 'missing';
  const cert = readCertificate(pair.cert);
  if (cert === undefined) return 'unreadable certificate';
  if (!holdsKey(cert, pair.key)) return 'key does not match the certificate';
  if (isNearExpiry(cert, now)) return 'near expiry';
  const ca = wanted.ca === undefined ? undefined : new X509Certificate(wanted.ca);
  if (ca !== undefined && !isSignedBy(cert, ca)) return 'signed by another authority';
  // If the authority is not valid yet either, the clock is wrong. A new authority would disconnect every client.
  if (ca !== undefined && now < cert.validFromDate && now >= ca.validFromDate) return 'not valid yet';
  if (wanted.subject !== undefined && !isFor(cert, wanted.subject)) return 'issued for other names';
  return undefined;
}

/** The names in a serving certificate. */
export function namesOf(cert: X509Certificate): SubjectNames {
  const entries = (cert.subjectAltName ?? '').split(', ').filter((entry) => entry !== '');
  const valuesOf = (prefix: string): string[] =>
    entries.filter((entry) => entry.startsWith(prefix)).map((entry) => entry.slice(prefix.length));
  return { dns: valuesOf('DNS:'), ips: valuesOf('IP Address:').map(canonicalIp) };
}

const begin = '-----BEGIN CERTIFICATE-----';
const end = '-----END CERTIFICATE-----';

/** All certificates in a PEM text. */
export const readCertificates = (pem: string): readonly X509Certificate[] =>
  pem
    .split(begin)
    .slice(1)
    .filter((text) => text.includes(end))
    .map((text) => new X509Certificate(`${begin}${text.slice(0, text.indexOf(end))}${end}`));

/** The first certificate in a PEM text; undefined if it is damaged. */
export function readCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined; // treated like a missing certificate
  }
}

/** Whether a private key, PEM, belongs to a certificate. */
export function holdsKey(cert: X509Certificate, key: string): boolean {
  try {
    return cert.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false; // damaged key
  }
}

function isNearExpiry(cert: X509Certificate, now: Date): boolean {
  const life = cert.validToDate.getTime() - cert.validFromDate.getTime();
  return cert.validToDate.getTime() - now.getTime() < life * renewalShare;
}

/** Whether `ca` signed the certificate directly. */
export const isSignedBy = (cert: X509Certificate, ca: X509Certificate): boolean =>
  cert.checkIssued(ca) && cert.verify(ca.publicKey);

function isFor(cert: X509Certificate, subject: Subject): boolean {
  const lines = cert.subject.split('\n');
  if (!lines.includes(`CN=${subject.commonName}`)) return false;
  if (subject.use === 'client') {
    return sameSet(
      lines.filter((line) => line.startsWith('O=')),
      subject.groups.map((group) => `O=${group}`),
    );
  }
  if (subject.use === 'peer') return true;
  const held = namesOf(cert);
  return sameSet(held.dns, subject.names.dns) && sameSet(held.ips, subject.names.ips.map(canonicalIp));
}

const sameSet = (left: readonly string[], right: readonly string[]): boolean =>
  new Set(left).symmetricDifference(new Set(right)).size === 0;

/** Canonical form: Node prints `0:0:0:0:0:0:0:1` for certificates where users write `::1`. */
const canonicalIp = (ip: string): string => (ip.includes(':') ? new URL(`http://[${ip}]`).hostname.slice(1, -1) : ip);
