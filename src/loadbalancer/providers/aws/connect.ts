// The ways to AWS: its own SDK, which is loaded by those who ask for it and finds credentials by itself.
import { pipeline, Readable } from 'node:stream';

import type { Ec2 } from './ec2.ts';
import { ec2By, limitResponse } from './ec2.ts';
import type { ElasticLoadBalancingV2 } from '@aws-sdk/client-elastic-load-balancing-v2';

/** Left out, the SDK finds them: environment, profile, web identity, the machine's role. */
export interface ConnectOptions {
  readonly region?: string | undefined;
  /** Another address of the service, such as that of an emulator. */
  readonly endpoint?: string | undefined;
  /** Another address of EC2; default the one before, if there is one. */
  readonly ec2Endpoint?: string | undefined;
  /** How often a call is tried before it has failed; default the SDK's. */
  readonly maxAttempts?: number;
}

const sdkPackage = '@aws-sdk/client-elastic-load-balancing-v2';

/** The ways to AWS. */
export interface Aws {
  readonly elb: Elb;
  readonly ec2: Ec2;
}

/** Connects to AWS. Rejects when the SDK, which is an optional dependency, is not installed. */
export async function connect({ ec2Endpoint, ...options }: ConnectOptions): Promise<Aws> {
  const sdk = await import('@aws-sdk/client-elastic-load-balancing-v2').catch((error: unknown) => {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    if (!isMissing) throw error;
    throw new Error(`load balancers of AWS need its SDK: npm install ${sdkPackage}`, { cause: error });
  });
  const clientOf = ({ region, endpoint, maxAttempts }: ConnectOptions): ElasticLoadBalancingV2 => {
    const client = new sdk.ElasticLoadBalancingV2({
      // Several workers share an account's rate: the client slows down before AWS makes it.
      retryMode: 'adaptive',
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(maxAttempts === undefined ? {} : { maxAttempts }),
    });
    limitAnswers(client);
    return client;
  };
  const elb = clientOf(options);
  await elb.config.region().catch((error: unknown) => {
    throw new Error('which region of AWS? pass --aws-region, or set AWS_REGION', { cause: error });
  });
  // Another client signs for EC2: each goes on to sign for the service that it was first asked to sign for.
  return { elb, ec2: ec2By(clientOf(options), ec2Endpoint ?? options.endpoint) };
}

/** Has answers that are too long fail where the SDK would hold all of them. */
function limitAnswers(client: ElasticLoadBalancingV2): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { response } = result;
      if (hasBody(response)) response.body = pipeline(response.body, limitResponse(), () => undefined);
      return result;
    },
    // Behind the step that reads the body.
    { step: 'deserialize', priority: 'low', name: 'limitAnswers' },
  );
}

const hasBody = (response: unknown): response is { body: Readable } =>
  typeof response === 'object' && response !== null && 'body' in response && response.body instanceof Readable;

/** Everything that is asked of ELBv2, and so everything that has to be permitted. */
export const elbActions = [
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
export type Elb = Pick<ElasticLoadBalancingV2, Uncapitalize<(typeof elbActions)[number]>>;
