import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { messageOf } from '../../api/thrown.ts';
import type { Settings } from '../settings.ts';

/** Calls `listener` with other settings whenever the file of `--config` says something else. */
export type SettingsChanges = (listener: (settings: Settings) => void) => void;

/** What a file says counts when it has said so for this long. */
const settleMs = 50;

export interface FollowOptions {
  /** The file of `--config`; undefined: nothing can change. */
  readonly path: string | undefined;
  /** Reads flags and file anew. */
  readonly read: () => Promise<Settings>;
  readonly log: Logger;
  /** How often to look; 2 s by default. SIGHUP makes it look at once. */
  readonly everyMs?: number;
}

/** Follows the configuration file of a running part. A file with an error changes nothing, and is told. */
export function followSettings({ path, read, log, everyMs = 2000 }: FollowOptions): Disposable & {
  readonly changes: SettingsChanges;
} {
  const listeners = new Set<(settings: Settings) => void>();
  if (path === undefined) return { changes: () => undefined, [Symbol.dispose]: () => undefined };
  let known: string | undefined;
  const readText = (): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined);
  const look = async (): Promise<void> => {
    let text = await readText();
    if (text === known) return;
    // One that is written in place is empty for a moment, and nothing is what everything is by default.
    for (let before; text !== before;) {
      before = text;
      await delay(settleMs);
      text = await readText();
    }
    // A file that is away is being replaced.
    if (text === undefined || text === known) return;
    const isFirst = known === undefined;
    known = text;
    if (isFirst) return;
    try {
      const settings = await read();
      for (const listener of listeners) listener(settings);
      log.info({ file: path }, 'the configuration has changed');
    } catch (error) {
      log.error({ file: path }, `the configuration stays as it was: ${messageOf(error)}`);
    }
  };
  let looking = look();
  const lookAgain = (): void => void (looking = looking.then(look));
  const timer = setInterval(lookAgain, everyMs).unref();
  process.on('SIGHUP', lookAgain);
  return {
    changes: (listener) => void listeners.add(listener),
    [Symbol.dispose]() {
      clearInterval(timer);
      process.off('SIGHUP', lookAgain);
    },
  };
}
