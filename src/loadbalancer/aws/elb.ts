// The way to AWS: its own SDK, which is loaded by those who ask for it and finds credentials by itself.
import type { ElasticLoadBalancingV2 } from '@aws-sdk/client-elastic-load-balancing-v2';

/** Everything that is asked of AWS, and so everything that has to be permitted. */
export const actions = [
  'AddTags',
  'CreateListener',
  'CreateLoadBalancer',
  'CreateTargetGroup',
  'DeleteListener',
  'DeleteLoadBalancer',
  'DeleteTargetGroup',
  'DeregisterTargets',
  'DescribeListeners',
  'DescribeLoadBalancerAttributes',
  'DescribeLoadBalancers',
  'DescribeTags',
  'DescribeTargetGroupAttributes',
  'DescribeTargetGroups',
  'DescribeTargetHealth',
  'ModifyListener',
  'ModifyLoadBalancerAttributes',
  'ModifyTargetGroup',
  'ModifyTargetGroupAttributes',
  'RegisterTargets',
  'SetIpAddressType',
  'SetSecurityGroups',
  'SetSubnets',
] as const;

/** The client of the SDK, with the calls above. */
export type Elb = Pick<ElasticLoadBalancingV2, Uncapitalize<(typeof actions)[number]>>;

/** Left out, the SDK finds them: environment, profile, web identity, the machine's role. */
export interface ElbOptions {
  readonly region?: string | undefined;
  /** Another address of the service, such as that of an emulator. */
  readonly endpoint?: string | undefined;
  /** How often a call is tried before it has failed; default the SDK's. */
  readonly maxAttempts?: number;
}

const sdkPackage = '@aws-sdk/client-elastic-load-balancing-v2';

/** Connects to AWS. Rejects when the SDK, which is an optional dependency, is not installed. */
export async function connectElb({ region, endpoint, maxAttempts }: ElbOptions): Promise<Elb> {
  const sdk = await import('@aws-sdk/client-elastic-load-balancing-v2').catch((error: unknown) => {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    if (!isMissing) throw error;
    throw new Error(`load balancers of AWS need its SDK: npm install ${sdkPackage}`, { cause: error });
  });
  const elb = new sdk.ElasticLoadBalancingV2({
    // Several workers share an account's rate: the client slows down before AWS makes it.
    retryMode: 'adaptive',
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
  });
  await elb.config.region().catch((error: unknown) => {
    throw new Error('which region of AWS? pass --aws-region, or set AWS_REGION', { cause: error });
  });
  return elb;
}
