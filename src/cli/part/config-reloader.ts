import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { messageOf } from '../../api/error-message.ts';
import { setInterval } from '../../machine/timers.ts';
import type { Settings } from '../options/flags.ts';
import { stableText, textOf } from '../process/stable-file.ts';

/** Registers a listener that is called with the new settings when the configuration file has changed. */
export type SettingsChanges = (listener: (settings: Settings) => void) => void;

export interface FollowConfigOptions {
  /** The file of `--config`; undefined: none. */
  readonly path: string | undefined;
  /** The settings the part started with. */
  readonly first: Settings;
  /** Reads the settings with this text as the file. */
  readonly read: (text: string) => Promise<Settings>;
  readonly log: Logger;
  /** How often to read the file; default 2 s. SIGHUP reads it at once. */
  readonly everyMs?: number;
}

/** Reloads the configuration file of a running part. A file with an error is logged and changes nothing. */
export function followConfigFile({ path, first, read, log, everyMs = 2000 }: FollowConfigOptions): Disposable & {
  readonly changes: SettingsChanges;
} {
  const listeners = new Set<(settings: Settings) => void>();
  if (path === undefined) return { changes: () => undefined, [Symbol.dispose]: () => undefined };
  const readText = textOf(path);
  let lastText: string | undefined;
  let current: Settings | undefined = first;
  const reload = async (): Promise<void> => {
    const text = await stableText(readText, lastText);
    // A missing file is being replaced.
    if (text === undefined || text === lastText) return;
    lastText = text;
    try {
      const settings = await read(text);
      if (isDeepStrictEqual(settings, current)) return;
      current = undefined; // until every listener has accepted it
      for (const listener of listeners) listener(settings);
      current = settings;
      log.info({ file: path }, 'configuration reloaded');
    } catch (error) {
      log.error({ file: path, reason: messageOf(error) }, 'configuration not reloaded, the previous one stays in use');
    }
  };
  let reloading = reload();
  const reloadNext = (): void => void (reloading = reloading.then(reload));
  const timer = setInterval(reloadNext, everyMs).unref();
  process.on('SIGHUP', reloadNext);
  return {
    changes: (listener) => void listeners.add(listener),
    [Symbol.dispose]() {
      clearInterval(timer);
      process.off('SIGHUP', reloadNext);
    },
  };
}
