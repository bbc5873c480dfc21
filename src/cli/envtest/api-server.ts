import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { fileErrorOf } from '../../api/error-message.ts';
import { version } from '../program.ts';
import { FatalError } from '../errors.ts';
import { longRunning } from '../process/long-running.ts';
import { listenForStop } from '../process/signals.ts';
import { apiServerOptions, parseKubeFlags } from './kube-flags.ts';

/** Runs an API server with the flags of kube-apiserver until SIGTERM. */
export async function runApiServer(args: readonly string[]): Promise<number> {
  const flags = parseKubeFlags(args);
  const options = apiServerOptions(flags);
  using stop = listenForStop(process, (code) => process.exit(code));
  using running = await longRunning({ level: 'warn', format: 'text' });
  const { log } = running;
  if (options.ignored.length > 0) log.warn({ flags: options.ignored }, 'flags without a meaning here are ignored');
  for (const warning of options.gates.warnings) log.warn(warning);
  const { certDir, certFile = join(certDir, 'apiserver.crt'), keyFile = join(certDir, 'apiserver.key') } = options;
  const [cert, key, ca, { startServer }, { openMemoryStore }, { effectiveQuota }] = await Promise.all([
    readPem(certFile),
    readPem(keyFile),
    readPem(options.clientCaFile),
    import('../../server/server.ts'),
    import('../../store/memory/memory.ts'),
    import('../../store/limits.ts'),
  ]);
  await using store = openMemoryStore({ quotaBytes: effectiveQuota(undefined, { stores: 1 }) });
  const server = await startServer({
    name: 'envtest',
    version,
    store,
    listen: { host: options.host, port: options.port },
    tls: { cert, key, ca },
    gates: options.gates.gates,
    serviceCidrs: options.serviceCidrs,
    nodePorts: { from: 30_000, to: 32_767 },
    loopbackEndpoints: [],
    admissionPlugins: options.plugins,
    tokens: [],
    accountTokens: options.issuer === undefined ? {} : { issuer: options.issuer },
    // Controllers do that in Kubernetes, and envtest has none: suites expect the objects of a deleted namespace.
    managesNamespaces: false,
    log,
  });
  if (!stop.requested.aborted) {
    await new Promise<void>((resolve) => stop.requested.addEventListener('abort', () => resolve(), { once: true }));
  }
  await server.close();
  return 0;
}

async function readPem(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new FatalError(`cannot read ${path}: ${fileErrorOf(error)}`, { cause: error });
  }
}
