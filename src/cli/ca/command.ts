import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { addKey } from '../../server/access/identity/key-directory.ts';
import type { Authority } from '../../server/pki/authority.ts';
import { finishRotation, rotateAuthority, trustedCertificates } from '../../server/pki/authority.ts';
import { readPair } from '../../server/pki/files.ts';
import { isSignedBy, readCertificate, readCertificates } from '../../server/pki/renewal.ts';
import type { KnownCluster } from '../up/stored-clusters.ts';
import { authoritiesOf, clustersOf, pkiOf, serverOf } from '../up/stored-clusters.ts';
import { inventory } from './inventory.ts';
import { FatalError, UsageError } from '../errors.ts';
import type { Streams } from '../output.ts';
import { columns, outputFlag, readOutput, rendered } from '../output.ts';
import { tokenKeys } from '../up/servers.ts';

interface CaFlags {
  readonly finish?: true;
  readonly tokens?: true;
  readonly dataDir: string;
}

export function define(command: Command): void {
  command
    .usage('[rotate] [flags]')
    .description(
      'Show the certificates and keys of a data directory, or replace the certificate authorities of its clusters.',
    )
    .addHelpText(
      'before',
      `Example:
  fairlead ca                       # what there is, and when it expires
  fairlead ca rotate                # a new authority for each cluster; the old ones stay trusted
  fairlead ca rotate --finish       # when everybody has a new kubeconfig: drop the old ones
`,
    )
    .argument('[action]', 'rotate')
    .option('--finish', 'stop trusting the authorities before these')
    .option('--tokens', 'make new keys for the tokens of service accounts instead; old tokens stay good')
    .option('--data-dir <DIR>', 'data directory of the server', '.fairlead')
    .addOption(outputFlag());
}

export async function execute(command: Command, { out }: Streams): Promise<number> {
  const [action] = command.args;
  const { dataDir, finish, tokens } = command.opts<CaFlags>();
  if (action !== undefined && action !== 'rotate') {
    throw new UsageError(`unknown action "${action}" of ca: expected rotate, or nothing to show what there is`);
  }
  if (finish && tokens) throw new UsageError('--finish and --tokens are for different things: pass one of them');
  if (action === undefined && (finish || tokens))
    throw new UsageError('--finish and --tokens belong to `fairlead ca rotate`');
  const authorities = await authoritiesOf(dataDir);
  if (action === undefined) out(await shown(command, dataDir, authorities));
  else if (tokens) out(await rotateTokens(dataDir));
  else if (finish) out(await finished(dataDir, authorities));
  else out(await rotated(dataDir, authorities));
  return 0;
}

/** Cluster → its authority. */
type Authorities = ReadonlyMap<string, Authority>;

async function shown(command: Command, dataDir: string, authorities: Authorities): Promise<string> {
  const rows = await inventory(dataDir, authorities, new Date());
  return rendered(readOutput(command), rows, () =>
    columns([
      ['NAME', 'SUBJECT', 'EXPIRES', 'NOTE'],
      ...rows.map(({ name, subject, expires, note }) => [name, subject, expires?.slice(0, 10) ?? '-', note]),
    ]),
  );
}

/** Continues an interrupted rotation: authorities that are already being rotated stay unchanged. */
async function rotated(dataDir: string, authorities: Authorities): Promise<string> {
  const settled = [...authorities].filter(([, { rotation }]) => rotation === undefined);
  if (settled.length === 0) {
    throw new FatalError('a rotation is under way: end it with `fairlead ca rotate --finish` first');
  }
  const now = new Date();
  for (const [cluster, old] of settled) await rotateAuthority(pkiOf(dataDir, cluster), { cluster, old, now });
  return [
    `${namesOf(settled)}: a new certificate authority signs from now on; the old one stays trusted`,
    await untilServed(dataDir),
    'next: give people new files with `fairlead user add`, then run `fairlead ca rotate --finish`',
    '',
  ].join('\n');
}

async function finished(dataDir: string, authorities: Authorities): Promise<string> {
  const rotating = [...authorities].filter(([, { rotation }]) => rotation !== undefined);
  if (rotating.length === 0) throw new FatalError('no rotation is under way: begin one with `fairlead ca rotate`');
  const waiting = await Promise.all(
    rotating.map(([cluster, { pair }]) => signedByOthers(dataDir, { cluster, ca: pair.cert })),
  );
  if (waiting.flat().length > 0) {
    const start = 'start the server once, so that it makes new ones';
    throw new FatalError(`${waiting.flat().join(', ')} still signed by the old certificate authority: ${start}`);
  }
  for (const [cluster] of rotating) await finishRotation(pkiOf(dataDir, cluster));
  return [
    `${namesOf(rotating)}: the old certificate authority is not trusted any more; files made before the rotation do not ` +
      'work now',
    await untilServed(dataDir),
    '',
  ].join('\n');
}

const namesOf = (entries: readonly (readonly [cluster: string, authority: Authority])[]): string =>
  entries.map(([cluster]) => cluster).join(', ');

async function rotateTokens(dataDir: string): Promise<string> {
  const lines: string[] = [];
  for (const { name } of await clustersOf(dataDir)) {
    const { kid } = await addKey(join(dataDir, tokenKeys, name), Date.now());
    lines.push(`${name}: tokens are signed with ${kid} from now on; those made before stay good until they expire\n`);
  }
  return lines.join('');
}

const servedWithinMs = 15_000;

/** Waits until a running server trusts the authorities in its files. It reloads them, and writes its kubeconfig last. */
async function untilServed(dataDir: string): Promise<string> {
  if ((await serverOf(dataDir)) === undefined) return 'no server runs here: certificates change when one starts';
  const authorities = await authoritiesOf(dataDir);
  const isBehind = ({ name, ca }: KnownCluster): boolean => {
    const authority = authorities.get(name);
    return authority !== undefined && fingerprints(ca) !== fingerprints(trustedCertificates(authority));
  };
  const end = performance.now() + servedWithinMs;
  while ((await clustersOf(dataDir)).some(isBehind)) {
    if (performance.now() > end) return 'the running server has not followed: see its log, or restart it';
    await delay(50);
  }
  return 'the running server has followed';
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
