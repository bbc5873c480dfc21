import { createHash } from 'node:crypto';
import type { PlanOptions, PublisherOptions } from '../../publisher/options.ts';
import { sourceNames } from '../../publisher/options.ts';
import type { RegistryOptions } from '../../publisher/plan/registry.ts';
import { UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { booleanFlag, grouped, outputFlag, readFlag, readFlags, textOf } from '../options/flags.ts';
import { countBetween, listOf, nonEmpty, oneOf, parseBoolean } from '../options/values.ts';
import { leaderFlags, readElection } from '../part/leader-flags.ts';
import type { LoadPart, Part } from '../part/part.ts';
import type { LoadProvider } from './provider.ts';
import { providerFlags, readInterval, readProvider } from './provider.ts';

const lease = 'fairlead-publisher';

const policies = ['sync', 'upsert-only', 'create-only'] as const;

const planFlags: readonly Flag[] = [
  ...providerFlags,
  {
    name: 'policy',
    value: 'POLICY',
    description: 'sync: all changes; upsert-only: no deletions; create-only: only new names',
    choices: policies,
    default: 'sync',
  },
  { name: 'ttl', value: 'SECONDS', description: 'TTL of records without an annotation', default: '60' },
  {
    name: 'sources',
    value: 'KIND,…',
    description: 'objects to publish: service, import (merged services of a cluster set)',
    default: sourceNames.join(','),
  },
  {
    name: 'domain-filter',
    value: 'DOMAIN',
    description: 'publish only names in this domain; .DOMAIN for names below it only',
    repeatable: true,
  },
  { name: 'exclude-domains', value: 'DOMAIN', description: 'publish no names in this domain', repeatable: true },
  ...grouped('Ownership', [
    {
      name: 'owner-id',
      value: 'ID',
      description: 'owner in registry records; records of other owners are never changed',
      default: 'default',
    },
    {
      name: 'txt-prefix',
      value: 'TEXT',
      description: 'prefix of the names of registry records; may contain %{record_type}',
    },
    { name: 'txt-suffix', value: 'TEXT', description: 'suffix of their first label, instead of a prefix' },
    { name: 'txt-wildcard-replacement', value: 'TEXT', description: 'label instead of "*" in their names' },
    { name: 'migrate-from-txt-owner', value: 'ID', description: 'take over the records of this owner' },
  ]),
];

const flags: readonly Flag[] = [
  ...planFlags,
  { name: 'dry-run', ...booleanFlag, description: 'log changes and apply none' },
  {
    name: 'interval',
    value: 'DURATION',
    description: 'how often zones are compared without a change of an object',
    default: '1m',
  },
  ...leaderFlags(lease),
];

/** `fairlead publisher`: publishes names of Services in DNS zones outside the cluster. */
export const part: Part = {
  name: 'publisher',
  description:
    'Publish Services and merged services in DNS zones outside the cluster: addresses, and SRV records for their ports. A ' +
    'Service is published if it has the annotation fairlead.dev/hostname or that of ExternalDNS.',
  examples: [
    'fairlead publisher --zone example.org --server 192.0.2.53 --tsig-key-file key.conf',
    'fairlead publisher plan --zone example.org --server 192.0.2.53 --tsig-key-file key.conf',
  ],
  health: 10_362,
  flags,
  actions: {
    plan: {
      summary: 'print what would be created, updated and deleted, and every conflict',
      description: 'Compare the zones with the cluster, and print what would change. Changes nothing.',
      examples: ['fairlead publisher plan --zone example.org --server 192.0.2.53 --tsig-key-file key.conf'],
      flags: [...planFlags, outputFlag],
      run: async (call) => {
        const { printPlan } = await import('./plan.ts');
        return printPlan(call, readPlanOptions(call.settings), readProvider(call.settings));
      },
    },
  },
  alone(settings) {
    const options = readOptions(settings);
    const leaderElection = readElection(settings, leaseName(options.registry));
    return load({ ...options, leaderElection }, readProvider(settings));
  },
  // One publisher per owner: it publishes the Services of the first cluster, and what any cluster exports.
  isOneForAll: true,
  // `up` holds the lock of its data directory: there is no other replica.
  inUp: ({ settings = new Map() }) => load(readOptions(settings), readProvider(settings)),
};

const load =
  (options: Omit<PublisherOptions, 'openProvider'>, provider: LoadProvider): LoadPart =>
  async () => {
    const { startPublisher } = await import('../../publisher/publisher.ts');
    const openProvider = await provider();
    return (context) => startPublisher(context, { ...options, openProvider });
  };

/**
 * Publishers with different owners may elect their leaders in the same cluster. An owner that is no DNS label is part of the
 * name with a hash, so that `a.b` and `a_b` do not share a Lease.
 */
export function leaseName({ ownerId }: Pick<RegistryOptions, 'ownerId'>): string {
  if (ownerId === 'default') return lease;
  if (/^[a-z0-9-]*$/.test(ownerId)) return `${lease}-${ownerId}`;
  const hash = createHash('sha256').update(ownerId).digest('hex').slice(0, 8);
  return `${lease}-${ownerId.toLowerCase().replaceAll(/[^a-z0-9]/g, '-')}-${hash}`;
}

function readOptions(settings: Settings): Omit<PublisherOptions, 'openProvider'> {
  return {
    ...readPlanOptions(settings),
    isDryRun: readFlag(settings, 'dry-run', parseBoolean, false),
    intervalMs: readInterval(settings),
  };
}

function readPlanOptions(settings: Settings): PlanOptions {
  const domains = (name: string): readonly string[] => readFlags(settings, name, listOf(nonEmpty('a domain'))).flat();
  return {
    registry: readRegistry(settings),
    policy: readFlag(settings, 'policy', oneOf(policies), 'sync'),
    filter: { include: domains('domain-filter'), exclude: domains('exclude-domains') },
    ttl: readFlag(settings, 'ttl', countBetween(1, 2 ** 31 - 1), 60),
    sources: readFlag(settings, 'sources', listOf(oneOf(sourceNames)), sourceNames),
  };
}

function readRegistry(settings: Settings): RegistryOptions {
  const affix = (name: string): string => readFlag(settings, name, parseAffix, '');
  const options = {
    ownerId: readFlag(settings, 'owner-id', parseOwner, 'default'),
    prefix: affix('txt-prefix'),
    suffix: affix('txt-suffix'),
    wildcardReplacement: affix('txt-wildcard-replacement'),
    migrateFrom: readFlag<string | undefined>(settings, 'migrate-from-txt-owner', nonEmpty('an owner'), undefined),
  };
  if (options.prefix !== '' && options.suffix !== '')
    throw new UsageError('--txt-prefix cannot be combined with --txt-suffix');
  if (options.migrateFrom === options.ownerId)
    throw new UsageError(
      `--migrate-from-txt-owner ${textOf(settings, 'migrate-from-txt-owner')} is --owner-id: nothing would change`,
    );
  return options;
}

/** The owner is part of a list in a TXT record, and of the name of a Lease. */
function parseOwner(text: string): string {
  if (!/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(text))
    throw new UsageError('expected up to 63 letters, digits, "-", "_" and "."');
  return text;
}

function parseAffix(text: string): string {
  if (!/^[a-z0-9_.-]*$/i.test(text.replaceAll('%{record_type}', '')))
    throw new UsageError('expected letters, digits, "-", "_", "." and %{record_type}');
  return text.toLowerCase();
}
