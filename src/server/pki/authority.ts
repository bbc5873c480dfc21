// The certificate authority of a cluster, and how it is replaced without cutting anybody off:
//
//   ca                      rotate      ca           the new authority signs from now on
//   signs and is trusted   ───────▶   previous       the old one is still trusted, and has no key any more
//                                      cross          the new one signed by the old: servers send it along, so that
//                                                     clients who know only the old one trust them
//                          finish
//                         ───────▶   ca               certificates of the old authority are refused

import { randomBytes, X509Certificate } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { readIfPresent, writePrivateFile } from './files.ts';
import type { KeyPair } from './issue.ts';
import { crossSign, issueCa } from './issue.ts';
import { readPair, writePair } from './pairs.ts';
import { holdsKey, readCertificate } from './renewal.ts';

/** An authority as it stands. */
export interface Authority {
  readonly pair: KeyPair;
  /** While it is being rotated: every authority before it, and the links from each to the next. */
  readonly rotation?: { readonly previous: string; readonly cross: string };
}

const caDays = 3650;
/** A common name has at most 64 characters. */
const nameOf = (cluster: string): string => `fairlead-ca-${cluster.slice(0, 40)}`;
const previousFile = 'ca-previous.crt';
const crossFile = 'ca-cross.crt';
/** The certificate of an authority that is being written: two files cannot be replaced in one step. */
const nextFile = 'ca-next.crt';

/** The authority in a directory; undefined when there is none. */
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
  const isRotating = previous !== undefined && cross !== undefined && isOf(cross, pair);
  return { pair, ...(isRotating ? { rotation: { previous, cross } } : {}) };
}

/** Makes the first authority of a cluster. */
export async function createAuthority(directory: string, cluster: string, now: Date): Promise<Authority> {
  const pair = await issueCa(nameOf(cluster), { now, days: caDays });
  await adoptAuthority(directory, { pair });
  return { pair };
}

/** Makes an authority that exists that of a directory, with its rotation. */
export async function adoptAuthority(directory: string, { pair, rotation }: Authority): Promise<void> {
  // What only adds trust comes first, so that nobody is cut off if this stops half way.
  if (rotation !== undefined) {
    await writePrivateFile(join(directory, previousFile), rotation.previous);
    await writePrivateFile(join(directory, crossFile), rotation.cross);
  }
  await writePrivateFile(join(directory, nextFile), pair.cert);
  await writePair(directory, 'ca', pair);
  await rm(join(directory, nextFile), { force: true });
}

/**
 * Completes the writing of an authority that was interrupted between the key and the certificate. Another process may be
 * writing it now: nothing else is touched.
 */
export async function completeAuthority(directory: string): Promise<void> {
  const [stored, next] = await Promise.all([readPair(directory, 'ca'), readIfPresent(join(directory, nextFile))]);
  if (stored === undefined || next === undefined) return;
  if (!isPair(stored) && isPair({ ...stored, cert: next })) await writePrivateFile(join(directory, 'ca.crt'), next);
  else if (next !== stored.cert) return;
  await rm(join(directory, nextFile), { force: true });
}

/** Gives a cluster another authority than `old`, which stays trusted until `finishRotation`. */
export async function rotateAuthority(
  directory: string,
  { cluster, old, now }: { readonly cluster: string; readonly old: Authority; readonly now: Date },
): Promise<Authority> {
  const pair = await issueCa(`${nameOf(cluster)}-${randomBytes(4).toString('hex')}`, { now, days: caDays });
  const left = (new X509Certificate(old.pair.cert).validToDate.getTime() - now.getTime()) / 86_400_000;
  const link = await crossSign(pair.cert, old.pair, { now, days: left });
  // A rotation may begin before the last one is finished.
  const previous = joined(old.pair.cert, old.rotation?.previous);
  const cross = joined(link, old.rotation?.cross);
  const authority = { pair, rotation: { previous, cross } };
  await adoptAuthority(directory, authority);
  return authority;
}

/** Stops trusting the authority before this one. */
export async function finishRotation(directory: string): Promise<void> {
  await rm(join(directory, previousFile), { force: true });
  await rm(join(directory, crossFile), { force: true });
}

/** The authorities to trust, as PEM. */
export const trusted = ({ pair, rotation }: Authority): string => joined(pair.cert, rotation?.previous);

/** A serving certificate with what clients of an old authority need to trust it. */
export const withChain = ({ rotation }: Authority, serving: KeyPair): KeyPair => ({
  ...serving,
  cert: joined(serving.cert, rotation?.cross),
});

const joined = (pem: string, more: string | undefined): string =>
  more === undefined ? pem : `${pem.endsWith('\n') ? pem : `${pem}\n`}${more}`;

function isPair({ cert, key }: KeyPair): boolean {
  const certificate = readCertificate(cert);
  return certificate !== undefined && holdsKey(certificate, key);
}

/** A rotation that stopped half way leaves a cross certificate of an authority that never was. */
function isOf(cross: string, { cert }: KeyPair): boolean {
  try {
    const [left, right] = [new X509Certificate(cross), new X509Certificate(cert)];
    return left.subject === right.subject && left.publicKey.equals(right.publicKey);
  } catch {
    return false; // damaged: as if it were not there
  }
}
