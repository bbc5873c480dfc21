// The certificate authority of a data directory, and how it is replaced without cutting anybody off:
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

/** An authority as it stands. */
export interface Authority {
  readonly pair: KeyPair;
  /** While it is being rotated. */
  readonly rotation?: { readonly previous: string; readonly cross: string };
}

const caDays = 3650;
/** The name of the first authority; later ones add to it, since two must not share a name. */
const caName = 'fairlead-ca';
const previousFile = 'ca-previous.crt';
const crossFile = 'ca-cross.crt';

/** The authority in a directory; undefined when there is none. */
export async function readAuthority(directory: string): Promise<Authority | undefined> {
  const [pair, previous, cross] = await Promise.all([
    readPair(directory, 'ca'),
    readIfPresent(join(directory, previousFile)),
    readIfPresent(join(directory, crossFile)),
  ]);
  if (pair === undefined) return undefined;
  const isRotating = previous !== undefined && cross !== undefined && isOf(cross, pair);
  return { pair, ...(isRotating ? { rotation: { previous, cross } } : {}) };
}

/** Makes the first authority of a directory. */
export async function createAuthority(directory: string, now: Date): Promise<Authority> {
  const pair = await issueCa(caName, { now, days: caDays });
  await writePair(directory, 'ca', pair);
  return { pair };
}

/** Replaces the authority by a new one, and goes on trusting the old one until `finishRotation`. */
export async function rotateAuthority(directory: string, old: KeyPair, now: Date): Promise<Authority> {
  const pair = await issueCa(`${caName}-${randomBytes(4).toString('hex')}`, { now, days: caDays });
  const left = (new X509Certificate(old.cert).validToDate.getTime() - now.getTime()) / 86_400_000;
  const cross = await crossSign(pair.cert, old, { now, days: left });
  // What only adds trust comes first, so that nobody is cut off if this stops half way.
  await writePrivateFile(join(directory, previousFile), old.cert);
  await writePrivateFile(join(directory, crossFile), cross);
  await writePair(directory, 'ca', pair);
  return { pair, rotation: { previous: old.cert, cross } };
}

/** Stops trusting the authority before this one. */
export async function finishRotation(directory: string): Promise<void> {
  await rm(join(directory, previousFile), { force: true });
  await rm(join(directory, crossFile), { force: true });
}

/** The authorities to trust, as PEM. */
export const trusted = ({ pair, rotation }: Authority): string =>
  rotation === undefined ? pair.cert : `${endLine(pair.cert)}${rotation.previous}`;

/** A serving certificate with what clients of an old authority need to trust it. */
export const withChain = ({ rotation }: Authority, serving: KeyPair): KeyPair =>
  rotation === undefined ? serving : { ...serving, cert: `${endLine(serving.cert)}${rotation.cross}` };

const endLine = (pem: string): string => (pem.endsWith('\n') ? pem : `${pem}\n`);

/** A rotation that stopped half way leaves a cross certificate of an authority that never was. */
function isOf(cross: string, { cert }: KeyPair): boolean {
  try {
    const [left, right] = [new X509Certificate(cross), new X509Certificate(cert)];
    return left.subject === right.subject && left.publicKey.equals(right.publicKey);
  } catch {
    return false; // damaged: as if it were not there
  }
}
