import { isRecord, pathOf, pemOf, readBoundedFile, textOf } from './config-entry.ts';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ConfigEntry } from './config-entry.ts';
import { KubeconfigError } from './errors.ts';
import type { Credentials, ServerAccess } from './http-socket.ts';
import type { Clock } from './clock.ts';

type Source = ServerAccess['credentials'];

/** How the user of a kubeconfig proves who they are, asked anew for every request. */
export async function credentialsOf(user: ConfigEntry, context: CredentialsContext): Promise<Source> {
  const { entry } = user;
  if (entry['auth-provider'] !== undefined) {
    throw new KubeconfigError(`user "${context.userName}": auth-provider is gone from Kubernetes: use exec`);
  }
  if (isRecord(entry['exec'])) return execCredentials({ entry: entry['exec'], directory: user.directory }, context);
  const tokenFile = textOf(entry, 'tokenFile');
  if (tokenFile !== undefined) return refreshed(() => tokenIn(pathOf(user, tokenFile)), context.clock);
  const source = refreshed(() => tokenAndCertificateOf(user), context.clock);
  await source(false); // what is missing is told at once
  return source;
}

const tokenIn = async (path: string): Promise<Credentials> => ({ token: (await readBoundedFile(path)).trim() });

/** What the entry holds itself, or the files that it names do. */
async function tokenAndCertificateOf(user: ConfigEntry): Promise<Credentials> {
  const [cert, key] = [await pemOf(user, 'client-certificate'), await pemOf(user, 'client-key')];
  const token = textOf(user.entry, 'token');
  return {
    ...(token === undefined ? {} : { token }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  };
}

/** What a user of a kubeconfig is for. */
export interface CredentialsContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly userName: string;
  readonly cluster: Omit<ServerAccess, 'credentials'>;
}

/** A program may ask a cloud, but not for ever. */
const timeoutMs = 60_000;

/** Certificates and a token are shorter by far. */
const mostOutputBytes = 1 << 20;

/** Credentials that a program prints, kept until they expire or are refused. */
function execCredentials(exec: ConfigEntry, context: CredentialsContext): ServerAccess['credentials'] {
  let latest: { readonly credentials: Credentials; readonly expiresAt: number } | undefined;
  /** One run serves all who wait for it. */
  let running: Promise<Credentials> | undefined;
  const run = async (): Promise<Credentials> => {
    const status = await runProgram(exec, context);
    const expiry = Date.parse(textOf(status, 'expirationTimestamp') ?? '');
    const credentials = fromStatus(status);
    latest = { credentials, expiresAt: Number.isNaN(expiry) ? Infinity : expiry };
    return credentials;
  };
  return async (isRefused) => {
    if (!isRefused && latest !== undefined && context.clock.now() < latest.expiresAt) return latest.credentials;
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  };
}

function fromStatus(status: Readonly<Record<string, unknown>>): Credentials {
  const [token, cert, key] = ['token', 'clientCertificateData', 'clientKeyData'].map((name) => textOf(status, name));
  return {
    ...(token === undefined ? {} : { token }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  };
}

async function runProgram(exec: ConfigEntry, context: CredentialsContext): Promise<Readonly<Record<string, unknown>>> {
  const { entry } = exec;
  const name = textOf(entry, 'command') ?? '';
  // A name is looked up in PATH; a path is relative to the kubeconfig.
  const command = name.includes('/') ? pathOf(exec, name) : name;
  const args = Array.isArray(entry['args']) ? entry['args'].map(String) : [];
  try {
    const { stdout } = await promisify(execFile)(command, args, {
      env: environment(entry, context),
      timeout: timeoutMs,
      maxBuffer: mostOutputBytes,
      killSignal: 'SIGKILL', // it may not heed another
    });
    const answer: unknown = JSON.parse(stdout);
    if (!isRecord(answer) || !isRecord(answer['status'])) throw new Error('it printed no ExecCredential with a status');
    return answer['status'];
  } catch (error) {
    // What the program printed may hold secrets, and is not repeated.
    const why = error instanceof SyntaxError ? 'it printed no JSON' : reason(error);
    const hint = textOf(entry, 'installHint');
    throw new KubeconfigError(
      `"${name}" gave user "${context.userName}" no credentials: ${why}${hint === undefined ? '' : `\n${hint}`}`,
      { cause: error },
    );
  }
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed';
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `it printed more than ${mostOutputBytes} bytes`;
  if ('killed' in error && error.killed === true) return `it took longer than ${timeoutMs} ms`;
  if (typeof code === 'string') return code;
  return typeof code === 'number' ? `it exited with ${code as number}` : error.message;
}

function environment(
  entry: Readonly<Record<string, unknown>>,
  { env, cluster }: CredentialsContext,
): Record<string, string | undefined> {
  const given = Array.isArray(entry['env']) ? entry['env'].filter(isRecord) : [];
  const info = {
    apiVersion: textOf(entry, 'apiVersion') ?? 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: { interactive: false, ...(entry['provideClusterInfo'] === true ? { cluster: clusterInfo(cluster) } : {}) },
  };
  return {
    ...env,
    ...Object.fromEntries(given.map((item) => [String(item['name']), String(item['value'])])),
    KUBERNETES_EXEC_INFO: JSON.stringify(info),
  };
}

const clusterInfo = ({ server, ca, tlsServerName, insecureSkipTlsVerify }: CredentialsContext['cluster']): object => ({
  server,
  ...(ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
  ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }),
  ...(insecureSkipTlsVerify === true ? { 'insecure-skip-tls-verify': true } : {}),
});

/** How long what was read is taken for right. */
const rereadMs = 10_000;

/**
 * Reads what others replace while programs run: again when it is a while ago, and at once when what it said was refused.
 * What cannot be read now, being half written or gone for a moment, is as it was; only the first time must go well.
 */
export function refreshed<T>(
  read: (last: T | undefined) => Promise<T>,
  clock: Clock,
): (isRefused: boolean) => Promise<T> {
  let latest: { readonly value: T; readonly readAt: number } | undefined;
  /** One reading serves all who wait for it. */
  let reading: Promise<T> | undefined;
  const readNow = async (): Promise<T> => {
    const readAt = clock.elapsed();
    try {
      latest = { value: await read(latest?.value), readAt };
    } catch (error) {
      if (latest === undefined) throw error;
      latest = { ...latest, readAt };
    }
    return latest.value;
  };
  return async (isRefused) => {
    if (latest !== undefined && !isRefused && clock.elapsed() - latest.readAt < rereadMs) return latest.value;
    reading ??= readNow().finally(() => {
      reading = undefined;
    });
    return reading;
  };
}
