// Until release 0.1 all clusters of a data directory shared one certificate authority in `pki/`, so certificates of one
// cluster were valid for all. Now each has its own in `pki/CLUSTER/`. A start replaces the shared one:
//
// - If it served one cluster, it becomes the authority of that cluster.
// - Otherwise every cluster gets a new authority by a rotation: certificates of the shared one stay valid, and clients that
//   only have the shared one still trust the servers, until `fairlead ca rotate --finish`.
//
// Its key is removed when all clusters have an authority. The next start continues an interrupted one.

import { X509Certificate } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { Authority } from './authority.ts';
import { writeAuthority, readAuthority, rotateAuthority } from './authority.ts';
import { makePrivateDirectory } from './files.ts';
import { renewalReason } from './renewal.ts';

const servingFile = /^apiserver-(.+)\.crt$/;
/** Includes temporary files of interrupted writes. */
const fileOfPair = /\.(?:crt|key)(?:\.[0-9a-f]+\.tmp)?$/;

/**
 * Gives every cluster of the shared authority in `directory` its own, and removes the shared one. `known` are the clusters
 * of the data directory, in case serving certificates are missing. Returns the clusters with a new authority. Throws if
 * the shared authority is damaged and still needed.
 */
export async function replaceSharedAuthority(
  directory: string,
  known: readonly string[],
  now: Date,
): Promise<readonly string[]> {
  const files = (await filesIn(directory)).filter((name) => fileOfPair.test(name));
  if (files.length === 0) return [];
  const served = new Set([...known, ...files.flatMap((name) => servingFile.exec(name)?.[1] ?? [])]);
  const missing: string[] = [];
  for (const cluster of served) {
    if ((await readAuthority(join(directory, cluster))) === undefined) missing.push(cluster);
  }
  const shared = missing.length === 0 ? undefined : await readShared(directory, now);
  if (shared !== undefined) {
    for (const cluster of missing) {
      const own = join(directory, cluster);
      await makePrivateDirectory(own);
      if (served.size === 1) await writeAuthority(own, shared);
      else await rotateAuthority(own, { cluster, old: shared, now });
    }
  }
  for (const name of files) await rm(join(directory, name), { force: true });
  return served.size === 1 ? [] : missing;
}

/** The shared authority; undefined if it has expired, and with it all its certificates. */
async function readShared(directory: string, now: Date): Promise<Authority | undefined> {
  const shared = await readAuthority(directory);
  const reason = renewalReason(shared?.pair, { ca: undefined, subject: undefined }, now);
  if (shared !== undefined && reason === undefined) return shared;
  if (shared !== undefined && reason === 'near expiry') {
    return new X509Certificate(shared.pair.cert).validToDate > now ? shared : undefined;
  }
  throw new Error(
    `${join(directory, 'ca.crt')} and ca.key, the certificate authority that the clusters shared, cannot be used ` +
      `(${reason ?? 'missing'}): restore them from a backup, or remove the files in ${directory} to begin with new ` +
      'authorities, after which kubeconfigs that were issued before no longer work',
  );
}

async function filesIn(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}
