import { messageOf } from '../../api/error-message.ts';
import type { Aws, ConnectOptions } from '../../loadbalancer/providers/aws/connect.ts';
import type { AwsOptions } from '../../loadbalancer/providers/aws/provider.ts';
import { FatalError, UsageError } from '../errors.ts';
import { oneOf, readFlag } from '../options/flags.ts';
import type { Flag, Settings } from '../settings.ts';

/** Which load balancers there are, and those of AWS. */
export const awsFlags: readonly Flag[] = [
  {
    name: 'provider',
    value: 'NAME',
    description: 'whose load balancers: local (addresses of a pool), or aws (network load balancers; needs its SDK)',
    default: 'local',
  },
  {
    name: 'cluster-name',
    value: 'NAME',
    description: 'tells load balancers of this cluster from others of the account',
  },
  {
    name: 'aws-region',
    value: 'NAME',
    description: "where; default what AWS' own tools take: AWS_REGION, the profile",
  },
  { name: 'aws-subnets', value: 'ID,...', description: 'for load balancers of Services that name no subnets' },
  { name: 'aws-security-groups', value: 'ID,...', description: 'for load balancers of Services that name none' },
  { name: 'aws-endpoint', value: 'URL', description: 'another address of its API, such as that of an emulator' },
  {
    name: 'aws-ec2-endpoint',
    value: 'URL',
    description: 'another one of EC2; default --aws-endpoint, if there is one',
  },
];

/** What is asked of AWS. */
export type AwsSettings = Omit<AwsOptions, keyof Aws | 'isMixingAllowed'> & ConnectOptions;

/** What flags ask of AWS; undefined when load balancers are others'. */
export function readAws(settings: Settings): AwsSettings | undefined {
  const text = (name: string): string => settings.get(name)?.at(-1) ?? '';
  const ids = (name: string, kind: string): readonly string[] =>
    readFlag(settings, name, (value) => listOf(value, kind), []);
  if (readFlag(settings, 'provider', oneOf(['local', 'aws']), 'local') === 'local') {
    const stray = awsFlags.find(({ name }) => name !== 'provider' && settings.has(name));
    if (stray !== undefined) throw new UsageError(`--${stray.name} goes with --provider aws`);
    return undefined;
  }
  const stray = ['pool', 'manual-pool', 'interface', 'simulate'].find((name) => settings.has(name));
  if (stray !== undefined) throw new UsageError(`--${stray} does not go with --provider aws`);
  return {
    cluster: readFlag(settings, 'cluster-name', clusterName, '') || missing('which cluster is it? pass --cluster-name'),
    subnets: ids('aws-subnets', 'subnet'),
    securityGroups: ids('aws-security-groups', 'sg'),
    ...(text('aws-region') === '' ? {} : { region: text('aws-region') }),
    ...(settings.has('aws-endpoint') ? { endpoint: readFlag(settings, 'aws-endpoint', url, '') } : {}),
    ...(settings.has('aws-ec2-endpoint') ? { ec2Endpoint: readFlag(settings, 'aws-ec2-endpoint', url, '') } : {}),
  };
}

/** What the provider is made of. */
export async function connectAws(aws: AwsSettings): Promise<Omit<AwsOptions, 'isMixingAllowed'>> {
  const { connect } = await import('../../loadbalancer/providers/aws/connect.ts');
  const ways = await connect(aws).catch((error: unknown) => {
    throw new FatalError(messageOf(error), { cause: error });
  });
  return { ...aws, ...ways };
}

function listOf(text: string, kind: string): readonly string[] {
  const ids = text.split(',').map((id) => id.trim());
  const wrong = ids.find((id) => !id.startsWith(`${kind}-`) || !/^[0-9a-z]+$/.test(id.slice(kind.length + 1)));
  if (wrong !== undefined) throw new UsageError(`expected IDs such as ${kind}-0a1b, separated by commas`);
  return ids;
}

/** It becomes a part of a tag. */
function clusterName(text: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text)) throw new UsageError('expected letters, digits, "-", "_", "."');
  return text;
}

function url(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) throw new UsageError('expected http://… or https://…');
  return text;
}

function missing(message: string): never {
  throw new UsageError(message);
}
