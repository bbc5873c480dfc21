// --encryption-provider-config: reading the file at the start, and again when it changes.

import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { messageOf } from '../../api/error-message.ts';
import { setInterval } from '../../machine/timers.ts';
import type { Encryption } from '../../server/encryption/encryption.ts';
import { UsageError } from '../errors.ts';
import { readFlag } from '../options/flags.ts';
import { parseBoolean } from '../part/boolean.ts';
import { settledText, textOf } from '../process/stable-file.ts';
import type { Flag, Settings } from '../settings.ts';

export const encryptionFlags: readonly Flag[] = [
  {
    name: 'encryption-provider-config',
    value: 'FILE',
    description: 'EncryptionConfiguration: the resources to encrypt in the store, and their keys',
  },
  {
    name: 'encryption-provider-config-automatic-reload',
    value: 'true|false',
    description: 'reload the encryption configuration when the file changes',
    bare: 'true',
    default: 'false',
  },
];

/** What the flags ask for. */
export interface EncryptionOptions {
  readonly path: string;
  readonly reloads: boolean;
}

/** Undefined: nothing is encrypted. */
export function readEncryption(settings: Settings): EncryptionOptions | undefined {
  const path = settings.get('encryption-provider-config')?.at(-1);
  const reloads = readFlag(settings, 'encryption-provider-config-automatic-reload', parseBoolean, false);
  if (path === '') throw new UsageError('--encryption-provider-config: expected a path');
  if (path !== undefined) return { path, reloads };
  // As kube-apiserver refuses it.
  if (reloads) throw new UsageError('--encryption-provider-config-automatic-reload needs --encryption-provider-config');
  return undefined;
}

/** Reads the configuration, and follows it if that is asked for until the stack is disposed. */
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
    throw new UsageError(`--encryption-provider-config ${path}: ${messageOf(error)}`, { cause: error });
  }
}

export interface FollowEncryptionOptions {
  readonly path: string;
  /** What it was read as. */
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
  let known = options.text;
  const reload = async (): Promise<void> => {
    const text = await settledText(readText, known);
    // A missing file is being replaced.
    if (text === undefined || text === known) return;
    known = text;
    try {
      await encryption.reload(text, Date.now());
      log.info({ file: path }, 'the encryption configuration has changed');
    } catch (error) {
      log.error({ file: path }, `the encryption configuration stays as it was: ${messageOf(error)}`);
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
