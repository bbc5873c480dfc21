// --encryption-provider-config: reading the file at the start, and again when it changes.

import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { fileErrorOf } from '../../api/error-message.ts';
import { setInterval } from '../../machine/timers.ts';
import type { Encryption } from '../../server/encryption/encryption.ts';
import { UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { booleanFlag, readFlag } from '../options/flags.ts';
import { nonEmpty, parseBoolean } from '../options/values.ts';
import { stableText, textOf } from '../process/stable-file.ts';

export const encryptionFlags: readonly Flag[] = [
  {
    name: 'encryption-provider-config',
    value: 'FILE',
    description: 'file of an EncryptionConfiguration: the resources to encrypt in the store, and their keys',
  },
  {
    name: 'encryption-provider-config-automatic-reload',
    ...booleanFlag,
    description: 'reload the encryption configuration when the file changes',
  },
];

export interface EncryptionOptions {
  readonly path: string;
  readonly reloads: boolean;
}

/** Reads the flags; undefined: nothing is encrypted. */
export function readEncryption(settings: Settings): EncryptionOptions | undefined {
  const path = readFlag<string | undefined>(settings, 'encryption-provider-config', nonEmpty('a path'), undefined);
  const reloads = readFlag(settings, 'encryption-provider-config-automatic-reload', parseBoolean, false);
  if (path !== undefined) return { path, reloads };
  // kube-apiserver rejects it, too.
  if (reloads) throw new UsageError('--encryption-provider-config-automatic-reload needs --encryption-provider-config');
  return undefined;
}

/** Reads the configuration, and reloads it until the stack is disposed if the flag requests it. */
export async function openEncryption(
  options: EncryptionOptions | undefined,
  log: Logger,
  stack: AsyncDisposableStack,
): Promise<Encryption | undefined> {
  if (options === undefined) return undefined;
  const { path, reloads } = options;
  try {
    const [text, { Encryption }, { kinds }] = await Promise.all([
      readFile(path, 'utf8'),
      import('../../server/encryption/encryption.ts'),
      import('../../api/kinds/registry.ts'),
    ]);
    const encryption = await Encryption.create(text, kinds);
    if (reloads) stack.use(followEncryption({ path, text, encryption, log }));
    return encryption;
  } catch (error) {
    throw new UsageError(`--encryption-provider-config ${path}: ${fileErrorOf(error)}`, { cause: error });
  }
}

export interface FollowEncryptionOptions {
  readonly path: string;
  /** The content at the start. */
  readonly text: string;
  readonly encryption: Pick<Encryption, 'reload'>;
  readonly log: Pick<Logger, 'info' | 'error'>;
  /** How often to read the file; default 10 s. */
  readonly everyMs?: number;
}

/** Reloads the configuration whenever its file changes. A file with an error changes nothing. */
export function followEncryption(options: FollowEncryptionOptions): AsyncDisposable {
  const { path, encryption, log, everyMs = 10_000 } = options;
  const readText = textOf(path);
  let lastText = options.text;
  const reload = async (): Promise<void> => {
    const text = await stableText(readText, lastText);
    // A missing file is being replaced.
    if (text === undefined || text === lastText) return;
    lastText = text;
    try {
      await encryption.reload(text, Date.now());
      log.info({ file: path }, 'encryption configuration reloaded');
    } catch (error) {
      log.error(
        { file: path, reason: fileErrorOf(error) },
        'encryption configuration not reloaded, the previous one stays in use',
      );
    }
  };
  let reloading = Promise.resolve();
  const timer = setInterval(() => void (reloading = reloading.then(reload)), everyMs).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await reloading;
    },
  };
}
