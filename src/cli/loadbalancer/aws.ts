import { messageOf } from '../../api/error-message.ts';
import type { Aws, ConnectOptions } from '../../loadbalancer/providers/aws/connect.ts';
import type { AwsOptions } from '../../loadbalancer/providers/aws/provider.ts';
import { FatalError, UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { grouped, readFlag, textOf } from '../options/flags.ts';
import { listOf, oneOf, parseHttpUrl } from '../options/values.ts';

/** The source of load balancers. */
export const providerFlag: Flag = {
  name: 'provider',
  value: 'NAME',
  description: 'local: addresses of the pools; aws: network load balancers of AWS (needs the AWS SDK)',
  choices: ['local', 'aws'],
  default: 'local',
};

export const awsFlags: readonly Flag[] = grouped('AWS', [
  {
    name: 'cluster-name',
    value: 'NAME',
    description: 'name of this cluster, unique in the account',
  },
  { name: 'aws-region', value: 'NAME', description: 'region', default: 'AWS_REGION, or that of the profile' },
  { name: 'aws-subnets', value: 'ID,...', description: 'subnets for Services that specify none' },
  { name: 'aws-security-groups', value: 'ID,...', description: 'security groups for Services that specify none' },
  { name: 'aws-endpoint', value: 'URL', description: 'endpoint of the API, such as that of an emulator' },
  { name: 'aws-ec2-endpoint', value: 'URL', description: 'endpoint of EC2', default: '--aws-endpoint' },
]);

/** The flags of AWS, read. */
export type AwsSettings = Omit<AwsOptions, keyof Aws | 'isMixingAllowed'> & ConnectOptions;

/** Reads the flags; undefined: the provider is not AWS. */
export function readAws(settings: Settings): AwsSettings | undefined {
  const region = textOf(settings, 'aws-region') ?? '';
  const ids = (name: string, kind: string): readonly string[] => readFlag(settings, name, listOf(parseId(kind)), []);
  if (readFlag(settings, 'provider', oneOf(['local', 'aws']), 'local') === 'local') {
    const stray = awsFlags.find(({ name }) => settings.has(name));
    if (stray !== undefined) throw new UsageError(`--${stray.name} requires --provider aws`);
    return undefined;
  }
  const stray = ['pool', 'manual-pool', 'interface', 'simulate'].find((name) => settings.has(name));
  if (stray !== undefined) throw new UsageError(`--${stray} cannot be combined with --provider aws`);
  return {
    cluster: readFlag(settings, 'cluster-name', clusterName, '') || missing('--provider aws requires --cluster-name'),
    subnets: ids('aws-subnets', 'subnet'),
    securityGroups: ids('aws-security-groups', 'sg'),
    ...(region === '' ? {} : { region }),
    ...(settings.has('aws-endpoint') ? { endpoint: readFlag(settings, 'aws-endpoint', parseHttpUrl, '') } : {}),
    ...(settings.has('aws-ec2-endpoint')
      ? { ec2Endpoint: readFlag(settings, 'aws-ec2-endpoint', parseHttpUrl, '') }
      : {}),
  };
}

/** Connects to AWS. */
export async function connectAws(aws: AwsSettings): Promise<Omit<AwsOptions, 'isMixingAllowed'>> {
  const { connect } = await import('../../loadbalancer/providers/aws/connect.ts');
  const clients = await connect(aws).catch((error: unknown) => {
    throw new FatalError(messageOf(error), { cause: error });
  });
  return { ...aws, ...clients };
}

const parseId =
  (kind: string) =>
  (id: string): string => {
    if (!id.startsWith(`${kind}-`) || !/^[0-9a-z]+$/.test(id.slice(kind.length + 1)))
      throw new UsageError(`expected IDs such as ${kind}-0a1b, separated by commas`);
    return id;
  };

/** The name becomes part of a tag. */
function clusterName(text: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text)) throw new UsageError('expected letters, digits, "-", "_", "."');
  return text;
}

function missing(message: string): never {
  throw new UsageError(message);
}
