import { existsSync, watch } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';

import { setInterval } from '../../machine/timers.ts';

export interface CertificateOptions {
  /** The directory of the certificates. */
  readonly path: string;
  /** Makes what is missing or near expiry, and hands it to the servers. */
  readonly renew: () => Promise<void>;
  readonly log: Logger;
}

const dayMs = 24 * 60 * 60_000;

/**
 * Calls `renew` when `fairlead ca rotate` has replaced the authority or dropped the one before, and once a day for what
 * expires while servers run for months. Never twice at once.
 */
export function followCertificates({ path, renew, log }: CertificateOptions): AsyncDisposable {
  let running: Promise<void> = Promise.resolve();
  let isWaiting = false;
  const request = (): void => {
    if (isWaiting) return;
    isWaiting = true;
    running = running.then(async () => {
      isWaiting = false;
      await renew().catch((error: unknown) =>
        log.error({ err: error }, 'certificates not renewed: restart to try again'),
      );
    });
  };
  const watcher = watch(path, (_event, name) => {
    if (isComplete(path, name)) request();
  });
  watcher.on('error', (error) => log.warn({ err: error }, 'certificates are not watched: restart after a rotation'));
  const timer = setInterval(request, dayMs);
  return {
    async [Symbol.asyncDispose]() {
      watcher.close();
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
