import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { addKey } from '../server/access/identity/key-directory.ts';
import type { Authority } from '../server/pki/authority.ts';
import { finishRotation, rotateAuthority } from '../server/pki/authority.ts';
import { readPair } from '../server/pki/pairs.ts';
import { isSignedBy, readCertificate, readCertificates } from '../server/pki/renewal.ts';
import { authorityOf, clustersOf, pkiOf, serverOf } from './access/data.ts';
import { inventory } from './access/inventory.ts';
import { FatalError, UsageError } from './errors.ts';
import type { Streams } from './output.ts';
import { columns, outputFlag, readOutput, rendered } from './output.ts';
import { tokenKeys } from './up/servers.ts';

interface CaFlags {
  readonly finish?: true;
  readonly tokens?: true;
  readonly dataDir: string;
}

export function define(command: Command): void {
  command
    .usage('[rotate] [flags]')
    .description('Show the certificates and keys of a data directory, or replace its certificate authority.')
    .addHelpText(
      'before',
      `Example:
  fairlead ca                       # what there is, and when it expires
  fairlead ca rotate                # a new authority; the old one stays trusted
  fairlead ca rotate --finish       # when everybody has a new kubeconfig: drop the old one
`,
    )
    .argument('[action]', 'rotate')
    .option('--finish', 'stop trusting the authority before this one')
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
  const authority = await authorityOf(dataDir);
  if (action === undefined) out(await shown(command, dataDir, authority));
  else if (tokens) out(await rotateTokens(dataDir));
  else if (finish) out(await finished(dataDir, authority));
  else out(await rotated(dataDir, authority));
  return 0;
}

async function shown(command: Command, dataDir: string, { pair }: Authority): Promise<string> {
  const rows = await inventory(dataDir, pair.cert, new Date());
  return rendered(readOutput(command), rows, () =>
    columns([
      ['NAME', 'SUBJECT', 'EXPIRES', 'NOTE'],
      ...rows.map(({ name, subject, expires, note }) => [name, subject, expires?.slice(0, 10) ?? '-', note]),
    ]),
  );
}

async function rotated(dataDir: string, { pair, rotation }: Authority): Promise<string> {
  if (rotation !== undefined) {
    throw new FatalError('a rotation is under way: end it with `fairlead ca rotate --finish` first');
  }
  const { pair: next } = await rotateAuthority(pkiOf(dataDir), pair, new Date());
  return [
    'a new certificate authority signs from now on; the old one stays trusted',
    await untilServed(dataDir, `${next.cert}\n${pair.cert}`),
    'next: give people new files with `fairlead user add`, then run `fairlead ca rotate --finish`',
    '',
  ].join('\n');
}

async function finished(dataDir: string, { pair, rotation }: Authority): Promise<string> {
  if (rotation === undefined) throw new FatalError('no rotation is under way: begin one with `fairlead ca rotate`');
  const waiting = await signedByOthers(dataDir, pair.cert);
  if (waiting.length > 0) {
    const start = 'start the server once, so that it makes new ones';
    throw new FatalError(`${waiting.join(', ')} still of the old certificate authority: ${start}`);
  }
  await finishRotation(pkiOf(dataDir));
  return [
    'the old certificate authority is not trusted any more; files made before the rotation do not work now',
    await untilServed(dataDir, pair.cert),
    '',
  ].join('\n');
}

async function rotateTokens(dataDir: string): Promise<string> {
  const lines: string[] = [];
  for (const { name } of await clustersOf(dataDir)) {
    const { kid } = await addKey(join(dataDir, tokenKeys, name), Date.now());
    lines.push(`${name}: tokens are signed with ${kid} from now on; those made before stay good until they expire\n`);
  }
  return lines.join('');
}

const servedWithinMs = 15_000;

/** Waits until a running server trusts exactly `ca`; it sees to that itself, and writes its kubeconfig last. */
async function untilServed(dataDir: string, ca: string): Promise<string> {
  if ((await serverOf(dataDir)) === undefined) return 'no server runs here: certificates change when one starts';
  const wanted = fingerprints(ca);
  const end = performance.now() + servedWithinMs;
  while ((await clustersOf(dataDir)).some((cluster) => fingerprints(cluster.ca) !== wanted)) {
    if (performance.now() > end) return 'the running server has not followed: see its log, or restart it';
    await delay(50);
  }
  return 'the running server has followed';
}

const fingerprints = (pem: string): string =>
  readCertificates(pem)
    .map(({ fingerprint256 }) => fingerprint256)
    .join(' ');

/** The certificates of servers and of the administrator that the authority did not sign. */
async function signedByOthers(dataDir: string, ca: string): Promise<readonly string[]> {
  const authority = new X509Certificate(ca);
  const names = ['admin', ...(await clustersOf(dataDir)).map(({ name }) => `apiserver-${name}`)];
  const others: string[] = [];
  for (const name of names) {
    const cert = readCertificate((await readPair(pkiOf(dataDir), name))?.cert ?? '');
    if (cert === undefined || !isSignedBy(cert, authority)) others.push(name);
  }
  return others;
}
