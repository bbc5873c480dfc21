// The flags of providers.
import { readFileSync } from 'node:fs';
import { fileErrorOf, messageOf } from '../../api/error-message.ts';
import type { Name } from '../../dnswire/data.ts';
import { parseName } from '../../dnswire/name.ts';
import type { TsigKey } from '../../dnswire/tsig.ts';
import type { ProviderObserver } from '../../publisher/options.ts';
import type { Provider } from '../../publisher/providers/provider.ts';
import { parseKeyFile } from '../../publisher/providers/rfc2136/key-file.ts';
import type { ServerAddress } from '../../publisher/providers/rfc2136/connection.ts';
import { isIP } from 'node:net';
import { FatalError, UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { grouped, readFlag, readFlags } from '../options/flags.ts';
import { durationFrom, listOf, nonEmpty, oneOf, parseHttpUrl, parsePort } from '../options/values.ts';

const providers = ['rfc2136', 'route53', 'webhook', 'file'] as const;
type ProviderName = (typeof providers)[number];

const rfc2136Flags: readonly Flag[] = grouped('DNS servers', [
  {
    name: 'server',
    value: 'IP[:PORT]',
    description: 'primary server of the zones; given several times, the next is used when one fails',
    repeatable: true,
  },
  {
    name: 'tsig-key-file',
    value: 'FILE',
    description: 'key that signs updates and transfers, as tsig-keygen prints it; read again when it changes',
  },
]);

const route53Flags: readonly Flag[] = grouped('Route 53', [
  {
    name: 'aws-zone-id',
    value: 'ID,…',
    description: 'hosted zones by their ids, such as private ones; --zone selects public ones by their names',
    repeatable: true,
  },
  { name: 'aws-endpoint', value: 'URL', description: 'endpoint of the API, such as that of an emulator' },
]);

const webhookFlags: readonly Flag[] = grouped('Webhook providers', [
  {
    name: 'webhook-provider-url',
    value: 'URL',
    description: "webhook provider of ExternalDNS; without --zone, the zones are the provider's domains",
    default: 'http://localhost:8888',
  },
]);

const fileFlags: readonly Flag[] = grouped('Zone files', [
  {
    name: 'zone-directory',
    value: 'DIR',
    description: 'directory of the files NAME.zone that are written, for DNS servers that include them',
  },
]);

/** A provider: the flags that only it has, and what reads them. */
interface KnownProvider {
  readonly flags: readonly Flag[];
  readonly read: (settings: Settings) => LoadProvider;
}

const known: Readonly<Record<ProviderName, KnownProvider>> = {
  rfc2136: { flags: rfc2136Flags, read: rfc2136 },
  route53: { flags: route53Flags, read: route53 },
  webhook: { flags: webhookFlags, read: webhook },
  file: { flags: fileFlags, read: file },
};

export const providerFlags: readonly Flag[] = [
  {
    name: 'provider',
    value: 'NAME',
    description:
      'rfc2136: DNS servers; route53: Amazon Route 53 (needs the AWS SDK); webhook: webhook providers of ExternalDNS; file: zone files',
    choices: providers,
    default: 'rfc2136',
  },
  { name: 'zone', value: 'NAME', description: 'zone to publish in, such as example.org', repeatable: true },
  ...providers.flatMap((name) => known[name].flags),
];

/** Opens a provider. */
export type OpenProvider = (observe: ProviderObserver) => Provider;

/** Imports the provider that the flags select. */
export type LoadProvider = () => Promise<OpenProvider>;

/** Reads the flags of the provider. */
export function readProvider(settings: Settings): LoadProvider {
  const name = readFlag<ProviderName>(settings, 'provider', oneOf(providers), 'rfc2136');
  for (const other of providers) {
    const stray = other === name ? undefined : known[other].flags.find((flag) => settings.has(flag.name));
    if (stray !== undefined) throw new UsageError(`--${stray.name} requires --provider ${other}`);
  }
  return known[name].read(settings);
}

function route53(settings: Settings): LoadProvider {
  const zoneIds = readFlags(settings, 'aws-zone-id', listOf(parseZoneId)).flat();
  const zones = zoneIds.length === 0 || settings.has('zone') ? readZones(settings) : [];
  const endpoint = readFlag<string | undefined>(settings, 'aws-endpoint', parseHttpUrl, undefined);
  const rereadMs = readInterval(settings);
  return async () => {
    const { connect } = await import('../../publisher/providers/route53/connect.ts');
    const { Route53Provider } = await import('../../publisher/providers/route53/provider.ts');
    const client = await connect({ endpoint }).catch((error: unknown) => {
      throw new FatalError(messageOf(error), { cause: error });
    });
    return ({ clock }) => new Route53Provider({ client, zones, zoneIds, clock, rereadMs });
  };
}

function parseZoneId(text: string): string {
  if (!/^[A-Z0-9]{1,32}$/.test(text)) throw new UsageError('expected the id of a hosted zone, such as Z0123456789ABC');
  return text;
}

function webhook(settings: Settings): LoadProvider {
  const zones = [...new Set(readFlags(settings, 'zone', parseZone))];
  const url = readFlag(settings, 'webhook-provider-url', parseHttpUrl, 'http://localhost:8888');
  return async () => {
    const { WebhookProvider } = await import('../../publisher/providers/webhook/provider.ts');
    return ({ onWebhookCall }) => new WebhookProvider({ url, zones, onCall: onWebhookCall });
  };
}

function file(settings: Settings): LoadProvider {
  const zones = readZones(settings);
  const odd = zones.find((zone) => !/^[a-z0-9_-][a-z0-9._-]*$/.test(zone));
  if (odd !== undefined) throw new UsageError(`--zone ${odd} cannot be the name of a file`);
  const directory = readFlag(settings, 'zone-directory', nonEmpty('a directory'), '');
  if (directory === '') throw new UsageError('no directory for zone files: pass --zone-directory DIR');
  return async () => {
    const { FileProvider } = await import('../../publisher/providers/file/provider.ts');
    return () => new FileProvider({ zones, directory });
  };
}

function rfc2136(settings: Settings): LoadProvider {
  const zones = readZones(settings);
  const servers = readFlags(settings, 'server', parseServer);
  if (servers.length === 0) throw new UsageError('no DNS server to update: pass --server IP, the primary of the zone');
  const path = readFlag<string | undefined>(settings, 'tsig-key-file', (text) => text, undefined);
  const key = path === undefined ? (): undefined => undefined : keyReader(path);
  return async () => {
    const { Rfc2136Provider } = await import('../../publisher/providers/rfc2136/provider.ts');
    return ({ clock, onMessage }) => new Rfc2136Provider({ zones, servers, key, clock, onMessage });
  };
}

/** How often zones are compared without a change of an object. */
export const readInterval = (settings: Settings): number =>
  readFlag(settings, 'interval', durationFrom(1000, '1s'), 60_000);

/** The zones; at least one. */
function readZones(settings: Settings): readonly Name[] {
  const zones = readFlags(settings, 'zone', parseZone);
  if (zones.length === 0) throw new UsageError('no zone to publish in: pass --zone NAME, such as --zone example.org');
  return [...new Set(zones)];
}

function parseZone(text: string): Name {
  const name = parseName(text);
  if (name === undefined || name === '') throw new UsageError('expected a zone, such as example.org');
  return name;
}

function parseServer(text: string): ServerAddress {
  const [, bracketed, port = '53'] = /^\[([^\]]*)\](?::(\d{1,5}))?$/.exec(text) ?? [];
  if (bracketed !== undefined && isIP(bracketed) === 6) return { address: bracketed, port: parsePort(port) };
  if (isIP(text) !== 0) return { address: text, port: 53 };
  const colon = text.lastIndexOf(':');
  if (isIP(text.slice(0, colon)) !== 4)
    throw new UsageError('expected an IP address, such as 192.0.2.53 or [2001:db8::53]:5353');
  return { address: text.slice(0, colon), port: parsePort(text.slice(colon + 1)) };
}

/** Reads a key file for every message: keys are rotated. A file that became unreadable keeps the last key. */
function keyReader(path: string): () => TsigKey {
  let [text, key] = readKey(path);
  return () => {
    try {
      const now = readFileSync(path, 'utf8');
      if (now !== text) [text, key] = [now, parseKeyFile(now)];
    } catch {
      // It is being replaced. If the last key is no longer valid, the server rejects the update.
    }
    return key;
  };
}

function readKey(path: string): [string, TsigKey] {
  try {
    const text = readFileSync(path, 'utf8');
    return [text, parseKeyFile(text)];
  } catch (error) {
    throw new UsageError(`cannot read --tsig-key-file ${path}: ${fileErrorOf(error)}`, { cause: error });
  }
}
