// Where API servers ask `fairlead multicluster` what an export would do, and the certificate it shows them.
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { messageOf } from '../../api/error-message.ts';
import type { Certificate, WebhookOptions } from '../../multicluster/webhook/webhook.ts';
import { FatalError, UsageError } from '../errors.ts';
import { readFlag } from '../options/flags.ts';
import type { Place } from '../options/place.ts';
import { parsePlace } from '../options/place.ts';
import type { Flag, Settings } from '../settings.ts';

export const webhookFlags: readonly Flag[] = [
  {
    name: 'webhook-listen',
    value: 'ADDR:PORT',
    description:
      'where API servers of the clusters can ask what an export would do, and warn of it; nowhere by default',
  },
  {
    name: 'webhook-url',
    value: 'URL',
    description: 'how they reach that, as https://HOST:PORT, if it is not the address of --webhook-listen',
  },
  {
    name: 'webhook-client-ca-file',
    value: 'FILE',
    description: 'refuse API servers whose client certificate is not signed by an authority in this PEM file',
  },
];

/** What the flags ask for; undefined: no webhook. */
export function readWebhook(settings: Settings): WebhookOptions | undefined {
  const listen = readFlag<Place | undefined>(settings, 'webhook-listen', parsePlace, undefined);
  const url = readFlag<string | undefined>(settings, 'webhook-url', parseBase, undefined);
  const clientCaFile = settings.get('webhook-client-ca-file')?.at(-1);
  if (listen === undefined) {
    if (url !== undefined)
      throw new UsageError('--webhook-url says how a webhook is reached: pass --webhook-listen too');
    if (clientCaFile !== undefined) throw new UsageError('--webhook-client-ca-file needs --webhook-listen');
    return undefined;
  }
  const isEverywhere = listen.host === '0.0.0.0' || listen.host === '::';
  if (isEverywhere && url === undefined) {
    throw new UsageError(`--webhook-listen ${listen.host} is no address to call: pass --webhook-url https://HOST:PORT`);
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
    throw new FatalError(`--webhook-client-ca-file ${file}: ${messageOf(error)}`, { cause: error });
  }
  throw new FatalError(`--webhook-client-ca-file ${file}: expected certificates in PEM`);
}

function parseBase(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' && url.pathname === '/' && url.search === '' && url.username === '') return url.origin;
  throw new UsageError('expected an address without a path, such as https://192.0.2.1:9443');
}

const days = 3650;

/** A certificate from an authority that signs nothing else. Both live as long as the process, and are told to members. */
async function issueCertificate(host: string): Promise<Certificate> {
  const { issue, issueCa } = await import('../../server/pki/issue.ts');
  const validity = { now: new Date(), days };
  const authority = await issueCa('fairlead-multicluster-webhook', validity);
  const address = host.replace(/^\[|\]$/g, '');
  const names = isIP(address) === 0 ? { dns: [address], ips: [] } : { dns: [], ips: [address] };
  const pair = await issue(authority, { use: 'server', commonName: 'fairlead-multicluster', names }, validity);
  return { ...pair, ca: authority.cert };
}

/** Made when it is first asked for. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
