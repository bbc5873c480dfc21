import type { ConfigEntry } from './config-entry.ts';
import { isRecord, pathOf, pemOf, textOf } from './config-entry.ts';
import { KubeconfigError } from './errors.ts';
import type { CredentialsContext } from './exec-credentials.ts';
import { execCredentials } from './exec-credentials.ts';
import type { Credentials, ServerAccess } from './https.ts';
import { rereading } from './rereading.ts';
import { readShortFile } from './short-file.ts';

type Source = ServerAccess['credentials'];

/** How the user of a kubeconfig proves who they are, asked anew for every request. */
export async function credentialsOf(user: ConfigEntry, context: CredentialsContext): Promise<Source> {
  const { entry } = user;
  if (entry['auth-provider'] !== undefined) {
    throw new KubeconfigError(`user "${context.userName}": auth-provider is gone from Kubernetes: use exec`);
  }
  if (isRecord(entry['exec'])) return execCredentials({ entry: entry['exec'], directory: user.directory }, context);
  const tokenFile = textOf(entry, 'tokenFile');
  if (tokenFile !== undefined) return rereading(() => tokenIn(pathOf(user, tokenFile)), context.clock);
  const source = rereading(() => tokenAndCertificateOf(user), context.clock);
  await source(false); // what is missing is told at once
  return source;
}

const tokenIn = async (path: string): Promise<Credentials> => ({ token: (await readShortFile(path)).trim() });

/** What the entry holds itself, or the files that it names do. */
async function tokenAndCertificateOf(user: ConfigEntry): Promise<Credentials> {
  const [cert, key] = [await pemOf(user, 'client-certificate'), await pemOf(user, 'client-key')];
  const token = textOf(user.entry, 'token');
  return {
    ...(token === undefined ? {} : { token }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  };
}
