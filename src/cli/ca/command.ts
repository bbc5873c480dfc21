import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { addKey } from '../../server/access/identity/key-directory.ts';
import type { Authority } from '../../server/pki/authority.ts';
import { finishRotation, rotateAuthority, trustedCertificates } from '../../server/pki/authority.ts';
import { readPair } from '../../server/pki/files.ts';
import { isSignedBy, readCertificate, readCertificates } from '../../server/pki/renewal.ts';
import type { KnownCluster } from '../up/stored-clusters.ts';
import { authoritiesOf, clustersOf, dataDirFlag, dataDirOf, pkiOf, serverOf } from '../up/stored-clusters.ts';
import type { Action, Command } from '../command.ts';
import { booleanFlag, outputFlag, readFlag } from '../options/flags.ts';
import { parseBoolean } from '../options/values.ts';
import { inventory } from './inventory.ts';
import { FatalError, UsageError } from '../errors.ts';
import { columns } from '../../api/text.ts';
import { rendered } from '../output.ts';
import { tokenKeys } from '../up/servers.ts';

const rotate: Action = {
  summary: 'replace the certificate authority of each cluster',
  description:
    'Replace the certificate authority of each cluster. The previous authorities are trusted until --finish; a running server ' +
    'reloads its certificates.',
  examples: [
    'fairlead ca rotate            # issue new authorities; the previous ones stay trusted',
    'fairlead ca rotate --finish   # after all users have new kubeconfigs: remove the previous ones',
    'fairlead ca rotate --tokens',
  ],
  flags: [
    { name: 'finish', ...booleanFlag, description: 'stop trusting the previous authorities' },
    {
      name: 'tokens',
      ...booleanFlag,
      description: 'replace the keys of service account tokens instead; previous tokens stay valid',
    },
    dataDirFlag,
  ],
  async run({ settings, streams: { out } }) {
    const dataDir = dataDirOf(settings);
    const isFinish = readFlag(settings, 'finish', parseBoolean, false);
    const isTokens = readFlag(settings, 'tokens', parseBoolean, false);
    if (isFinish && isTokens) throw new UsageError('--finish cannot be combined with --tokens');
    const authorities = await authoritiesOf(dataDir);
    if (isTokens) out(await rotateTokens(dataDir));
    else if (isFinish) out(await finish(dataDir, authorities));
    else out(await rotateAuthorities(dataDir, authorities));
    return 0;
  },
};

export const command: Command = {
  description: 'Show the certificates and keys of a data directory, or rotate them.',
  examples: ['fairlead ca                   # all certificates and keys, with their expiry', ...rotate.examples],
  flags: [outputFlag, dataDirFlag],
  actions: { rotate },
  async run({ settings, streams: { out } }) {
    const dataDir = dataDirOf(settings);
    const rows = await inventory(dataDir, await authoritiesOf(dataDir), new Date());
    const lines = (): readonly string[] =>
      columns([
        ['NAME', 'SUBJECT', 'EXPIRES', 'NOTE'],
        ...rows.map(({ name, subject, expires, note }) => [name, subject, expires?.slice(0, 10) ?? '-', note]),
      ]);
    out(await rendered(settings, rows, lines));
    return 0;
  },
};

/** Cluster → its authority. */
type Authorities = ReadonlyMap<string, Authority>;

/** Continues an interrupted rotation: authorities that are already being rotated stay unchanged. */
async function rotateAuthorities(dataDir: string, authorities: Authorities): Promise<string> {
  const unrotated = [...authorities].filter(([, { rotation }]) => rotation === undefined);
  if (unrotated.length === 0) {
    throw new FatalError('a rotation is in progress: end it with `fairlead ca rotate --finish` first');
  }
  const now = new Date();
  for (const [cluster, old] of unrotated) await rotateAuthority(pkiOf(dataDir, cluster), { cluster, old, now });
  return [
    `${namesOf(unrotated)}: a new certificate authority signs; the previous one stays trusted`,
    await waitForReload(dataDir),
    'next: write new kubeconfigs for all users with `fairlead user add`, then run `fairlead ca rotate --finish`',
    '',
  ].join('\n');
}

async function finish(dataDir: string, authorities: Authorities): Promise<string> {
  const rotating = [...authorities].filter(([, { rotation }]) => rotation !== undefined);
  if (rotating.length === 0) throw new FatalError('no rotation is in progress: start one with `fairlead ca rotate`');
  const waiting = await Promise.all(
    rotating.map(([cluster, { pair }]) => signedByOthers(dataDir, { cluster, ca: pair.cert })),
  );
  if (waiting.flat().length > 0) {
    const start = 'start the server once, so that it issues new ones';
    throw new FatalError(`${waiting.flat().join(', ')} still signed by the previous certificate authority: ${start}`);
  }
  for (const [cluster] of rotating) await finishRotation(pkiOf(dataDir, cluster));
  return [
    `${namesOf(rotating)}: the previous certificate authority is no longer trusted; kubeconfigs written before the rotation ` +
      'are invalid',
    await waitForReload(dataDir),
    '',
  ].join('\n');
}

const namesOf = (entries: readonly (readonly [cluster: string, authority: Authority])[]): string =>
  entries.map(([cluster]) => cluster).join(', ');

async function rotateTokens(dataDir: string): Promise<string> {
  const lines: string[] = [];
  for (const { name } of await clustersOf(dataDir)) {
    const { kid } = await addKey(join(dataDir, tokenKeys, name), Date.now());
    lines.push(`${name}: tokens are signed with ${kid}; previous tokens stay valid until they expire\n`);
  }
  return lines.join('');
}

const reloadTimeoutMs = 15_000;

/** Waits until a running server has reloaded its authorities; it writes its kubeconfig last. */
async function waitForReload(dataDir: string): Promise<string> {
  if ((await serverOf(dataDir)) === undefined) return 'no server is running: the next start issues new certificates';
  const authorities = await authoritiesOf(dataDir);
  const isBehind = ({ name, ca }: KnownCluster): boolean => {
    const authority = authorities.get(name);
    return authority !== undefined && fingerprints(ca) !== fingerprints(trustedCertificates(authority));
  };
  const end = performance.now() + reloadTimeoutMs;
  while ((await clustersOf(dataDir)).some(isBehind)) {
    if (performance.now() > end)
      return 'the running server has not reloaded its certificates: see its log, or restart it';
    await delay(50);
  }
  return 'the running server has reloaded its certificates';
}

const fingerprints = (pem: string): string =>
  readCertificates(pem)
    .map(({ fingerprint256 }) => fingerprint256)
    .join(' ');

/** The certificates of a server and of its administrator that the authority did not sign. */
async function signedByOthers(
  dataDir: string,
  { cluster, ca }: { readonly cluster: string; readonly ca: string },
): Promise<readonly string[]> {
  const authority = new X509Certificate(ca);
  const others: string[] = [];
  for (const name of ['admin', 'apiserver']) {
    const pair = await readPair(pkiOf(dataDir, cluster), name);
    // The next start makes a missing certificate with the current authority.
    if (pair === undefined) continue;
    const cert = readCertificate(pair.cert);
    if (cert === undefined || !isSignedBy(cert, authority)) others.push(`${cluster}/${name}`);
  }
  return others;
}
