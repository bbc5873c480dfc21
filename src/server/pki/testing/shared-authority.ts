// The certificates of a data directory of a release in which all clusters shared one authority.

import { join } from 'node:path';

import { makePrivateDirectory, writePair, writePrivateFile } from '../files.ts';
import type { KeyPair } from '../issue.ts';
import { crossSign, issue, issueCa } from '../issue.ts';

export interface SharedAuthority {
  readonly ca: KeyPair;
  /** A user with a certificate of the shared authority. */
  readonly alice: KeyPair;
}

/** Writes a shared authority with the certificates of its servers and of the administrator. */
export async function writeShared(
  directory: string,
  clusters: readonly string[],
  { now = new Date(), isRotating = false } = {},
): Promise<SharedAuthority & { readonly first: SharedAuthority }> {
  await makePrivateDirectory(directory);
  const validity = { now, days: 3650 };
  const userOf = (ca: KeyPair, commonName: string): Promise<KeyPair> =>
    issue(ca, { use: 'client', commonName, groups: ['system:masters'] }, validity);
  const first = await issueCa('fairlead-ca', validity);
  const ca = isRotating ? await issueCa('fairlead-ca-0a1b2c3d', validity) : first;
  if (isRotating) {
    await writePrivateFile(join(directory, 'ca-previous.crt'), first.cert);
    await writePrivateFile(join(directory, 'ca-cross.crt'), await crossSign(ca.cert, first, validity));
  }
  for (const cluster of clusters) {
    const names = { dns: ['localhost', 'kubernetes'], ips: ['127.0.0.1'] };
    const pair = await issue(ca, { use: 'server', commonName: 'kube-apiserver', names }, validity);
    await writePair(directory, `apiserver-${cluster}`, pair);
  }
  await writePair(directory, 'admin', await userOf(ca, 'kubernetes-admin'));
  await writePair(directory, 'ca', ca);
  return {
    ca,
    alice: await userOf(ca, 'alice'),
    first: { ca: first, alice: await userOf(first, 'alice') },
  };
}
