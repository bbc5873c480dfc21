// Trust checks and interrupted work for tests of authorities.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import fileSystem from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';

import type { KeyPair } from '../issue.ts';
import { isSignedBy, readCertificates } from '../renewal.ts';

/** Whether a server that trusts `ca` accepts a client certificate: it must be signed by one of them directly. */
export const accepts = (ca: string, { cert }: Pick<KeyPair, 'cert'>): boolean =>
  readCertificates(ca).some((authority) => isSignedBy(new X509Certificate(cert), authority));

/** Whether openssl accepts a server with `chain` when it trusts only `ca`. Writes files into `folder`. */
export async function trusts(folder: string, ca: string, chain: string): Promise<boolean> {
  const [leaf = '', ...others] = readCertificates(chain).map(String);
  const file = async (name: string, text: string): Promise<string> => {
    await fileSystem.writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const args = ['verify', '-x509_strict', '-CAfile', await file('trust', ca)];
  if (others.length > 0) args.push('-untrusted', await file('others', others.join('\n')));
  try {
    execFileSync('openssl', [...args, await file('leaf', leaf)], { stdio: 'pipe' });
    return true;
  } catch {
    return false; // openssl exits with 1
  }
}

/** Interrupts `work` after it has changed the file system `steps` times. Returns true if it finished before. */
export async function stoppedAfter(steps: number, work: () => Promise<unknown>): Promise<boolean> {
  const changing = ['rename', 'mkdir', 'rm', 'open'] as const;
  const originals = changing.map((name) => [name, fileSystem[name]] as const);
  let left = steps;
  for (const [name, original] of originals) {
    const limited = (...args: readonly unknown[]): unknown => {
      if (--left < 0) throw new Error('stopped by the test');
      return Reflect.apply(original, fileSystem, args);
    };
    Object.assign(fileSystem, { [name]: limited });
  }
  syncBuiltinESMExports();
  try {
    await work();
    return true;
  } catch (error) {
    assert.match(String(error), /stopped by the test/);
    return false;
  } finally {
    for (const [name, original] of originals) Object.assign(fileSystem, { [name]: original });
    syncBuiltinESMExports();
  }
}
