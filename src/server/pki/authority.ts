// The certificate authority of a cluster, and its rotation without disconnecting clients:
//
//   ca                      rotate      ca           the new authority signs
//   signs and is trusted   ───────▶   previous       the old one stays trusted; its key is removed
//                                      cross          the new one signed by the old: servers send it, so that clients
//                                                     with only the old one trust them
//                          finish
//                         ───────▶   ca               certificates of the old authority are rejected

import { randomBytes, X509Certificate } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { readIfPresent, readPair, writePair, writePrivateFile } from './files.ts';
import type { KeyPair } from './issue.ts';
import { crossSign, issueCa } from './issue.ts';
import { holdsKey, readCertificate } from './renewal.ts';

export interface Authority {
  readonly pair: KeyPair;
  /** During a rotation: all previous authorities, and the cross certificates from each to the next. */
  readonly rotation?: { readonly previous: string; readonly cross: string };
}

const caDays = 3650;
/** A common name has at most 64 characters. */
const nameOf = (cluster: string): string => `fairlead-ca-${cluster.slice(0, 40)}`;
const previousFile = 'ca-previous.crt';
const crossFile = 'ca-cross.crt';
/** The certificate of an authority while it is written: its two files cannot be replaced atomically. */
const nextFile = 'ca-next.crt';

/** Reads the authority in a directory; undefined if there is none. */
export async function readAuthority(directory: string): Promise<Authority | undefined> {
  const [stored, next, previous, cross] = await Promise.all([
    readPair(directory, 'ca'),
    readIfPresent(join(directory, nextFile)),
    readIfPresent(join(directory, previousFile)),
    readIfPresent(join(directory, crossFile)),
  ]);
  if (stored === undefined) return undefined;
  const written = { ...stored, cert: next ?? stored.cert };
  const pair = !isPair(stored) && isPair(written) ? written : stored;
  const isRotating = previous !== undefined && cross !== undefined && isCrossCertificateOf(cross, pair);
  return { pair, ...(isRotating ? { rotation: { previous, cross } } : {}) };
}

/** Creates the first authority of a cluster. */
export async function createAuthority(directory: string, cluster: string, now: Date): Promise<Authority> {
  const pair = await issueCa(nameOf(cluster), { now, days: caDays });
  await writeAuthority(directory, { pair });
  return { pair };
}

/** Writes an authority with its rotation into a directory. */
export async function writeAuthority(directory: string, { pair, rotation }: Authority): Promise<void> {
  // Files that add trust come first, so that an interruption disconnects no client.
  if (rotation !== undefined) {
    await writePrivateFile(join(directory, previousFile), rotation.previous);
    await writePrivateFile(join(directory, crossFile), rotation.cross);
  }
  await writePrivateFile(join(directory, nextFile), pair.cert);
  await writePair(directory, 'ca', pair);
  await rm(join(directory, nextFile), { force: true });
}

/**
 * Completes a write that was interrupted between key and certificate. Changes nothing else, since another process may be
 * writing now.
 */
export async function completeAuthority(directory: string): Promise<void> {
  const [stored, next] = await Promise.all([readPair(directory, 'ca'), readIfPresent(join(directory, nextFile))]);
  if (stored === undefined || next === undefined) return;
  if (!isPair(stored) && isPair({ ...stored, cert: next })) await writePrivateFile(join(directory, 'ca.crt'), next);
  else if (next !== stored.cert) return;
  await rm(join(directory, nextFile), { force: true });
}

/** Replaces the authority `old`, which stays trusted until `finishRotation`. */
export async function rotateAuthority(
  directory: string,
  { cluster, old, now }: { readonly cluster: string; readonly old: Authority; readonly now: Date },
): Promise<Authority> {
  const pair = await issueCa(`${nameOf(cluster)}-${randomBytes(4).toString('hex')}`, { now, days: caDays });
  const left = (new X509Certificate(old.pair.cert).validToDate.getTime() - now.getTime()) / 86_400_000;
  const link = await crossSign(pair.cert, old.pair, { now, days: left });
  // A rotation may start before the previous one is finished.
  const previous = joined(old.pair.cert, old.rotation?.previous);
  const cross = joined(link, old.rotation?.cross);
  const authority = { pair, rotation: { previous, cross } };
  await writeAuthority(directory, authority);
  return authority;
}

/** Ends the trust in previous authorities. */
export async function finishRotation(directory: string): Promise<void> {
  await rm(join(directory, previousFile), { force: true });
  await rm(join(directory, crossFile), { force: true });
}

/** The trusted authorities, PEM. */
export const trustedCertificates = ({ pair, rotation }: Authority): string => joined(pair.cert, rotation?.previous);

/** A serving certificate with the cross certificates for clients that trust only an old authority. */
export const withCrossCertificates = ({ rotation }: Authority, serving: KeyPair): KeyPair => ({
  ...serving,
  cert: joined(serving.cert, rotation?.cross),
});

const joined = (pem: string, more: string | undefined): string =>
  more === undefined ? pem : `${pem.endsWith('\n') ? pem : `${pem}\n`}${more}`;

function isPair({ cert, key }: KeyPair): boolean {
  const certificate = readCertificate(cert);
  return certificate !== undefined && holdsKey(certificate, key);
}

/** An interrupted rotation may leave a cross certificate of an authority that was never written. */
function isCrossCertificateOf(cross: string, { cert }: KeyPair): boolean {
  try {
    const [left, right] = [new X509Certificate(cross), new X509Certificate(cert)];
    return left.subject === right.subject && left.publicKey.equals(right.publicKey);
  } catch {
    return false; // damaged: ignored
  }
}
