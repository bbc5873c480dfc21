// The flags of the webhook that warns of conflicting exports, and its certificate.
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { fileErrorOf } from '../../api/error-message.ts';
import type { Certificate, WebhookOptions } from '../../multicluster/webhook/webhook.ts';
import { FatalError, UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { grouped, readFlag, textOf } from '../options/flags.ts';
import type { ListenAddress } from '../options/values.ts';
import { parseListenAddress } from '../options/values.ts';

export const webhookFlags: readonly Flag[] = grouped('Webhook', [
  {
    name: 'webhook-listen',
    value: 'ADDR:PORT',
    description: 'listen for admission reviews of API servers, and warn of exports that would conflict',
    default: 'none',
  },
  {
    name: 'webhook-url',
    value: 'URL',
    description: 'URL at which API servers reach the webhook, as https://HOST:PORT',
    default: 'the address of --webhook-listen',
  },
  {
    name: 'webhook-client-ca-file',
    value: 'FILE',
    description: 'reject API servers whose client certificate is not signed by an authority in this PEM file',
  },
]);

/** Reads the flags; undefined: no webhook. */
export function readWebhook(settings: Settings): WebhookOptions | undefined {
  const listen = readFlag<ListenAddress | undefined>(settings, 'webhook-listen', parseListenAddress, undefined);
  const url = readFlag<string | undefined>(settings, 'webhook-url', parseBase, undefined);
  const clientCaFile = textOf(settings, 'webhook-client-ca-file');
  if (listen === undefined) {
    if (url !== undefined) throw new UsageError('--webhook-url requires --webhook-listen');
    if (clientCaFile !== undefined) throw new UsageError('--webhook-client-ca-file requires --webhook-listen');
    return undefined;
  }
  const isEverywhere = listen.host === '0.0.0.0' || listen.host === '::';
  if (isEverywhere && url === undefined) {
    throw new UsageError(
      `--webhook-listen ${listen.host} is not an address that clients can use: pass --webhook-url https://HOST:PORT`,
    );
  }
  const host = url === undefined ? listen.host : new URL(url).hostname;
  const clientCa = clientCaFile === undefined ? undefined : (): Promise<string> => readAuthorities(clientCaFile);
  return { listen, url, clientCa, certificate: once(() => issueCertificate(host)) };
}

async function readAuthorities(file: string): Promise<string> {
  const { readCertificates } = await import('../../server/pki/renewal.ts');
  try {
    const text = await readFile(file, 'utf8');
    if (readCertificates(text).length > 0) return text;
  } catch (error) {
    throw new FatalError(`--webhook-client-ca-file ${file}: ${fileErrorOf(error)}`, { cause: error });
  }
  throw new FatalError(`--webhook-client-ca-file ${file}: expected certificates in PEM`);
}

function parseBase(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' && url.pathname === '/' && url.search === '' && url.username === '') return url.origin;
  throw new UsageError('expected an address without a path, such as https://192.0.2.1:9443');
}

const days = 3650;

/** Issues a certificate from an authority that signs nothing else; both exist for the life of the process. */
async function issueCertificate(host: string): Promise<Certificate> {
  const { issue, issueCa } = await import('../../server/pki/issue.ts');
  const validity = { now: new Date(), days };
  const authority = await issueCa('fairlead-multicluster-webhook', validity);
  const address = host.replace(/^\[|\]$/g, '');
  const names = isIP(address) === 0 ? { dns: [address], ips: [] } : { dns: [], ips: [address] };
  const pair = await issue(authority, { use: 'server', commonName: 'fairlead-multicluster', names }, validity);
  return { ...pair, ca: authority.cert };
}

/** Calls `make` at the first call. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
