import { isRecord, pathOf, pemOf, readBoundedFile, textOf } from './config-entry.ts';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ConfigEntry } from './config-entry.ts';
import { KubeconfigError } from './errors.ts';
import type { Credentials, ServerAccess } from './http-socket.ts';
import type { Clock } from './clock.ts';

type Source = ServerAccess['credentials'];

/** The source of credentials of a kubeconfig user; the transport calls it before every request. */
export async function credentialsOf(user: ConfigEntry, context: CredentialsContext): Promise<Source> {
  const { entry } = user;
  if (entry['auth-provider'] !== undefined) {
    throw new KubeconfigError(
      `user "${context.userName}": auth-provider is not supported, Kubernetes removed it: use exec`,
    );
  }
  if (isRecord(entry['exec'])) return execCredentials({ entry: entry['exec'], directory: user.directory }, context);
  const tokenFile = textOf(entry, 'tokenFile');
  if (tokenFile !== undefined) return refreshed(() => tokenIn(pathOf(user, tokenFile)), context.clock);
  const source = refreshed(() => tokenAndCertificateOf(user), context.clock);
  await source(false); // reports missing files now instead of with the first request
  return source;
}

/** The token in a file. */
export const tokenIn = async (path: string): Promise<Credentials> => ({ token: (await readBoundedFile(path)).trim() });

/** Credentials in the entry itself or in the files that it names. */
export async function tokenAndCertificateOf(user: ConfigEntry): Promise<Credentials> {
  const [cert, key] = [await pemOf(user, 'client-certificate'), await pemOf(user, 'client-key')];
  const token = textOf(user.entry, 'token');
  return {
    ...(token === undefined ? {} : { token }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  };
}

/** The user of a kubeconfig and the cluster that it authenticates to. */
export interface CredentialsContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly userName: string;
  readonly cluster: Omit<ServerAccess, 'credentials'>;
}

/** A plugin may call a cloud API, so it gets a minute. */
const timeoutMs = 60_000;

const maxOutputBytes = 1 << 20;

/** Runs a credential plugin and caches its output until it expires or the server rejects it. */
function execCredentials(exec: ConfigEntry, context: CredentialsContext): ServerAccess['credentials'] {
  let latest: { readonly credentials: Credentials; readonly expiresAt: number } | undefined;
  /** Concurrent callers share one run. */
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
  // A bare name is resolved through PATH; a path is relative to the kubeconfig.
  const command = name.includes('/') ? pathOf(exec, name) : name;
  const args = Array.isArray(entry['args']) ? entry['args'].map(String) : [];
  try {
    const { stdout } = await promisify(execFile)(command, args, {
      env: environment(entry, context),
      timeout: timeoutMs,
      maxBuffer: maxOutputBytes,
      killSignal: 'SIGKILL', // the plugin may ignore SIGTERM
    });
    const answer: unknown = JSON.parse(stdout);
    if (!isRecord(answer) || !isRecord(answer['status']))
      throw new Error('it did not print an ExecCredential with a status');
    return answer['status'];
  } catch (error) {
    // The output may contain secrets, so it is not part of the error.
    const why = error instanceof SyntaxError ? 'it did not print JSON' : reason(error);
    const hint = textOf(entry, 'installHint');
    throw new KubeconfigError(
      `credential plugin "${name}" of user "${context.userName}" failed: ${why}${hint === undefined ? '' : `\n${hint}`}`,
      { cause: error },
    );
  }
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed';
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `it printed more than ${maxOutputBytes} bytes`;
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

const refreshMs = 10_000;

/**
 * Caches a value that changes at run time, such as a token file. Reads it again after `refreshMs`, and at once if the
 * server rejected the cached value. If a later read fails, for example on a half-written file, the last value stays.
 */
export function refreshed<T>(
  read: (last: T | undefined) => Promise<T>,
  clock: Clock,
): (isRefused: boolean) => Promise<T> {
  let latest: { readonly value: T; readonly readAt: number } | undefined;
  /** Concurrent callers share one read. */
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
    if (latest !== undefined && !isRefused && clock.elapsed() - latest.readAt < refreshMs) return latest.value;
    reading ??= readNow().finally(() => {
      reading = undefined;
    });
    return reading;
  };
}
