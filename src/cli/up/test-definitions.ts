// The definitions and webhooks of a test, which its cluster has when it starts.

import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';

import { messageOf } from '../../api/error-message.ts';
import { isJsonObject } from '../../api/schema/json-object.ts';
import type { Transport } from '../../client/transport.ts';
import { setTimeout } from '../../machine/timers.ts';
import { issue, issueCa } from '../../server/pki/issue.ts';
import { UsageError } from '../errors.ts';
import { applyManifests } from './apply.ts';
import type { Manifest } from './manifests.ts';
import { parseManifests, readManifests } from './manifests.ts';

const day = 1;

/** The type of the library with this name: a file that it imports cannot import it. */
interface WebhookServer {
  readonly host: string;
  readonly port: number;
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** Chooses a port and issues a certificate for it. */
export async function webhookServer({
  host = '127.0.0.1',
  port,
}: {
  readonly host?: string;
  readonly port?: number;
}): Promise<WebhookServer> {
  const validity = { now: new Date(), days: day };
  const ca = await issueCa('fairlead-test-webhooks', validity);
  const names = { dns: ['localhost'], ips: [host] };
  const { cert, key } = await issue(ca, { use: 'server', commonName: 'webhooks', names }, validity);
  return { host, port: port ?? (await freePort(host)), cert, key, ca: ca.cert };
}

async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening').catch((error: unknown) => {
    throw new UsageError(`cannot listen for webhooks on ${host}: ${messageOf(error)}`, { cause: error });
  });
  const { port } = server.address() as AddressInfo; // listening on TCP
  server.close();
  await once(server, 'close');
  return port;
}

const kinds = {
  crds: new Set(['CustomResourceDefinition']),
  webhooks: new Set(['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration']),
} as const;

/**
 * Reads definitions or webhook configurations, like envtest: other objects of the files are skipped, and webhooks behind
 * Services are those of the test.
 */
export async function readDefinitions(
  option: keyof typeof kinds,
  sources: readonly (string | object)[],
  webhooks: WebhookServer | undefined,
): Promise<readonly Manifest[]> {
  const accepts = (kind: unknown): boolean => typeof kind === 'string' && kinds[option].has(kind);
  const lists = await Promise.all(
    sources.map(async (source, index) => {
      const name = typeof source === 'string' ? source : `${option}[${index}]`;
      const found =
        typeof source === 'string'
          ? await readManifests(source, accepts).catch((error: unknown) => {
              const why = messageOf(error).replace(/^cannot read --apply /, `cannot read ${option} `);
              throw new UsageError(why, { cause: error });
            })
          : parseManifests(JSON.stringify(source), name, accepts);
      if (found.length > 0) return found;
      throw new UsageError(`${name}: there is no ${[...kinds[option]].join(' or ')} in it`);
    }),
  );
  return lists.flat().map((manifest) => ({ ...manifest, object: asObject(served(manifest.object, webhooks)) }));
}

/** The value with addresses of the test instead of those of Services, in every `clientConfig`. */
function served(value: unknown, webhooks: WebhookServer | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => served(item, webhooks));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      name === 'clientConfig' && webhooks !== undefined ? clientConfig(field, webhooks) : served(field, webhooks),
    ]),
  );
}

function clientConfig(config: unknown, { host, port, ca }: WebhookServer): unknown {
  if (!isJsonObject(config) || !isJsonObject(config['service'])) return config;
  const { path } = config['service'];
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}${typeof path === 'string' ? path : '/'}`;
  return { url, caBundle: Buffer.from(ca).toString('base64') };
}

const asObject = (value: unknown): Readonly<Record<string, unknown>> => (isJsonObject(value) ? value : {});

/** Creates definitions or configurations, and waits until the kinds of definitions are served. */
export async function installDefinitions(
  manifests: readonly Manifest[],
  { name, connect }: { readonly name: string; readonly connect: (cluster: string) => Transport & Disposable },
): Promise<void> {
  if (manifests.length === 0) return;
  using transport = connect(name);
  await applyManifests(transport, name, manifests);
  for (const manifest of manifests) await untilServed(transport, manifest);
}

const timeoutMs = 10_000;

async function untilServed(api: Transport, { kind, object }: Manifest): Promise<void> {
  if (kind !== 'CustomResourceDefinition') return;
  const { group, versions, names } = asObject(object['spec']);
  const { plural } = asObject(names);
  for (const version of Array.isArray(versions) ? versions : []) {
    const { name, served: isServed } = asObject(version);
    if (isServed !== true || typeof group !== 'string' || typeof name !== 'string') continue;
    for (const end = performance.now() + timeoutMs; ;) {
      const { status, body } = await api.request({ method: 'GET', path: `/apis/${group}/${name}` });
      if (status === 200 && body.includes(JSON.stringify(plural))) break;
      if (performance.now() > end) throw new UsageError(`${String(plural)}.${group}/${name} is not served after 10 s`);
      await new Promise<void>((resolve) => setTimeout(resolve, 10));
    }
  }
}
