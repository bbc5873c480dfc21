import { existsSync, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';

import { setInterval } from '../../machine/timers.ts';
import { makePrivateDirectory } from '../../server/pki/files.ts';
import type { Pki } from '../../server/pki/pki.ts';
import { ensurePki } from '../../server/pki/pki.ts';
import { replaceSharedAuthority } from '../../server/pki/shared-authority.ts';
import { codesOf } from '../errors.ts';
import { firstServiceIp } from '../options/cidr.ts';
import type { DataDirectory } from './data-directory.ts';
import type { ClusterOptions } from './options.ts';
import { tokenKeys } from './servers.ts';

/** What certificates are made for. */
export interface CertificateRequest {
  readonly clusters: readonly Pick<ClusterOptions, 'name' | 'serviceCidrs'>[];
  readonly certificateNames?: { readonly dns: readonly string[]; readonly ips: readonly string[] };
}

/** The certificates of each cluster; those that are missing or near expiry are made. Each has an authority of its own. */
export async function ensureCertificates(
  { clusters, certificateNames }: CertificateRequest,
  directory: DataDirectory,
  log: Logger,
): Promise<ReadonlyMap<string, Pki>> {
  const now = new Date();
  const path = directory.at('pki');
  await makePrivateDirectory(path);
  const replaced = await replaceSharedAuthority(path, await ranHere(directory), now);
  if (replaced.length > 0) {
    log.warn(
      { clusters: replaced },
      'each cluster has a certificate authority of its own now; certificates of the shared one are accepted until ' +
        '`fairlead ca rotate --finish`',
    );
  }
  const pkis = clusters.map(async ({ name, serviceCidrs }): Promise<[string, Pki]> => {
    const serviceIps = serviceCidrs.map(firstServiceIp);
    const extra = certificateNames === undefined ? {} : { extra: certificateNames };
    const pki = await ensurePki({ directory: join(path, name), cluster: name, serviceIps, ...extra, now });
    for (const [file, reason] of pki.renewed) log.info({ cluster: name, file, reason }, 'certificate made');
    return [name, pki];
  });
  return new Map(await Promise.all(pkis));
}

/** The clusters that ran in a data directory: each has a folder with the keys of tokens. */
const ranHere = (directory: DataDirectory): Promise<readonly string[]> =>
  readdir(directory.at(tokenKeys)).catch((error: unknown) => {
    if (codesOf(error).includes('ENOENT')) return []; // none before the first start
    throw error;
  });

export interface CertificateOptions {
  /** The directories of the certificates, one for each cluster. */
  readonly paths: readonly string[];
  /** Makes what is missing or near expiry, and hands it to the servers. */
  readonly renew: () => Promise<void>;
  readonly log: Logger;
}

/** How long changes of the files may take until all of them are complete. */
const settleMs = 100;
const dayMs = 24 * 60 * 60_000;

/**
 * Calls `renew` when `fairlead ca rotate` has replaced the authority or dropped the one before, and once a day for what
 * expires while servers run for months. Never twice at once.
 */
export function followCertificates({ paths, renew, log }: CertificateOptions): AsyncDisposable {
  let running: Promise<void> = Promise.resolve();
  let isWaiting = false;
  const request = (): void => {
    if (isWaiting) return;
    isWaiting = true;
    running = running.then(async () => {
      await delay(settleMs);
      isWaiting = false;
      // The data directory was removed, which ends the process: nothing is written into it again.
      if (!paths.every((path) => existsSync(path))) return;
      await renew().catch((error: unknown) =>
        log.error({ err: error }, 'certificates not renewed: restart to try again'),
      );
    });
  };
  const watchers = paths.map((path) => {
    const watcher = watch(path, (_event, name) => {
      if (isComplete(path, name)) request();
    });
    watcher.on('error', (error) => log.warn({ err: error }, 'certificates are not watched: restart after a rotation'));
    return watcher;
  });
  const timer = setInterval(request, dayMs);
  return {
    async [Symbol.asyncDispose]() {
      for (const watcher of watchers) watcher.close();
      clearInterval(timer);
      await running;
    },
  };
}

/**
 * Whether a change is the last of its kind: a rotation writes `ca.crt` last, and its end begins with the removal of
 * the authority before. In between the files do not fit together.
 */
function isComplete(path: string, name: string | null): boolean {
  return name === null || name === 'ca.crt' || (name === 'ca-previous.crt' && !existsSync(join(path, name)));
}
