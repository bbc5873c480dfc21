import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { messageOf } from '../../api/error-message.ts';
import { setInterval } from '../../machine/timers.ts';
import type { Settings } from '../settings.ts';
import { settledText, textOf } from '../process/stable-file.ts';

/** Calls `listener` with other settings whenever the file of `--config` says something else. */
export type SettingsChanges = (listener: (settings: Settings) => void) => void;

export interface FollowOptions {
  /** The file of `--config`; undefined: nothing can change. */
  readonly path: string | undefined;
  /** What the part began with. */
  readonly first: Settings;
  /** Reads flags anew, and this text of the file. */
  readonly read: (text: string) => Promise<Settings>;
  readonly log: Logger;
  /** How often to look; 2 s by default. SIGHUP makes it look at once. */
  readonly everyMs?: number;
}

/** Follows the configuration file of a running part. A file with an error changes nothing, and is told. */
export function followSettings({ path, first, read, log, everyMs = 2000 }: FollowOptions): Disposable & {
  readonly changes: SettingsChanges;
} {
  const listeners = new Set<(settings: Settings) => void>();
  if (path === undefined) return { changes: () => undefined, [Symbol.dispose]: () => undefined };
  const readText = textOf(path);
  let known: string | undefined;
  let current: Settings | undefined = first;
  const look = async (): Promise<void> => {
    const text = await settledText(readText, known);
    // A file that is away is being replaced.
    if (text === undefined || text === known) return;
    known = text;
    try {
      const settings = await read(text);
      if (isDeepStrictEqual(settings, current)) return;
      current = undefined; // while some listeners have it, and when one refuses it
      for (const listener of listeners) listener(settings);
      current = settings;
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
