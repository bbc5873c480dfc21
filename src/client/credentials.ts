import { readFile } from 'node:fs/promises';
import type { Clock } from './clock.ts';
import type { ConfigEntry } from './config-entry.ts';
import { isRecord, pathOf, pemOf, textOf } from './config-entry.ts';
import { KubeconfigError } from './errors.ts';
import type { CredentialsContext } from './exec-credentials.ts';
import { execCredentials } from './exec-credentials.ts';
import type { Credentials, ServerAccess } from './https.ts';

type Source = ServerAccess['credentials'];

/** How the user of a kubeconfig proves who they are, asked anew for every request. */
export async function credentialsOf(user: ConfigEntry, context: CredentialsContext): Promise<Source> {
  const { entry } = user;
  if (entry['auth-provider'] !== undefined) {
    throw new KubeconfigError(`user "${context.userName}": auth-provider is gone from Kubernetes: use exec`);
  }
  if (isRecord(entry['exec'])) return execCredentials({ entry: entry['exec'], directory: user.directory }, context);
  const tokenFile = textOf(entry, 'tokenFile');
  if (tokenFile !== undefined) return fromFile(pathOf(user, tokenFile), context.clock);
  const [cert, key] = [await pemOf(user, 'client-certificate'), await pemOf(user, 'client-key')];
  const token = textOf(entry, 'token');
  const fixed: Credentials = {
    ...(token === undefined ? {} : { token }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  };
  return async () => fixed;
}

/** Tokens in files are replaced while programs run. */
const rereadMs = 60_000;

function fromFile(path: string, clock: Clock): Source {
  let latest: { readonly token: string; readonly readAt: number } | undefined;
  return async (isRefused) => {
    if (latest === undefined || isRefused || clock.elapsed() - latest.readAt >= rereadMs) {
      latest = { token: (await readFile(path, 'utf8')).trim(), readAt: clock.elapsed() };
    }
    return { token: latest.token };
  };
}
