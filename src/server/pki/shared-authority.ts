// Until release 0.1 all clusters of a data directory had one certificate authority, in `pki/`, so that a certificate for one
// was accepted by all. Each has its own now, in `pki/CLUSTER/`. A start replaces the shared one:
//
// - If it served one cluster only, it becomes the authority of that cluster.
// - Otherwise every cluster that it served gets a new authority, as in a rotation: certificates of the shared one are
//   accepted, and servers are trusted by clients that only have the shared one, until `fairlead ca rotate --finish`.
//
// Its key is removed when all clusters have an authority. A start that was interrupted is continued by the next one.

import { X509Certificate } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { Authority } from './authority.ts';
import { adoptAuthority, readAuthority, rotateAuthority } from './authority.ts';
import { makePrivateDirectory } from './files.ts';
import { renewalReason } from './renewal.ts';

const servingFile = /^apiserver-(.+)\.crt$/;
/** Also what an interrupted write has left. */
const fileOfPair = /\.(?:crt|key)(?:\.[0-9a-f]+\.tmp)?$/;

/**
 * Gives every cluster that the shared authority of `directory` served one of its own, and removes the shared one.
 * `known`: the clusters that ran in the data directory, in case serving certificates are missing. Returns the clusters
 * that have a new authority. Throws if the shared authority is damaged while it is still needed.
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
      if (served.size === 1) await adoptAuthority(own, shared);
      else await rotateAuthority(own, { cluster, old: shared, now });
    }
  }
  for (const name of files) await rm(join(directory, name), { force: true });
  return served.size === 1 ? [] : missing;
}

/** The shared authority; undefined if nobody can have a certificate of it that is still valid. */
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
