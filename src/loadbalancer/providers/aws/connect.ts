// Clients of AWS. The SDK is loaded on demand and finds credentials itself.
import { pipeline, Readable } from 'node:stream';

import { codeOf } from '../../../api/error-message.ts';
import type { Ec2 } from './ec2.ts';
import { ec2By, limitResponse } from './ec2.ts';
import type { ElasticLoadBalancingV2 } from '@aws-sdk/client-elastic-load-balancing-v2';

/** By default the SDK uses the environment, profile, web identity or instance role. */
export interface ConnectOptions {
  readonly region?: string | undefined;
  /** Endpoint of ELBv2, for example of an emulator. */
  readonly endpoint?: string | undefined;
  /** Endpoint of EC2; default: `endpoint`. */
  readonly ec2Endpoint?: string | undefined;
  /** Attempts per call; default: that of the SDK. */
  readonly maxAttempts?: number;
}

const sdkPackage = '@aws-sdk/client-elastic-load-balancing-v2';

/** The AWS clients. */
export interface Aws {
  readonly elb: Elb;
  readonly ec2: Ec2;
}

/** Creates the clients. Rejects if the SDK, an optional dependency, is not installed. */
export async function connect({ ec2Endpoint, ...options }: ConnectOptions): Promise<Aws> {
  const sdk = await import('@aws-sdk/client-elastic-load-balancing-v2').catch((error: unknown) => {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error(`load balancers of AWS need its SDK: npm install ${sdkPackage}`, { cause: error });
  });
  const clientOf = ({ region, endpoint, maxAttempts }: ConnectOptions): ElasticLoadBalancingV2 => {
    const client = new sdk.ElasticLoadBalancingV2({
      // Adaptive rate limiting, because concurrent syncs share the rate limit of the account.
      retryMode: 'adaptive',
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(maxAttempts === undefined ? {} : { maxAttempts }),
    });
    limitResponses(client);
    return client;
  };
  const elb = clientOf(options);
  await elb.config.region().catch((error: unknown) => {
    throw new Error('the AWS region is not set: pass --aws-region, or set AWS_REGION', { cause: error });
  });
  // A separate client for EC2, because a signer is bound to the first service that it signs for.
  return { elb, ec2: ec2By(clientOf(options), ec2Endpoint ?? options.endpoint) };
}

/** Limits the size of responses, which the SDK would buffer. */
function limitResponses(client: ElasticLoadBalancingV2): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { response } = result;
      if (hasBody(response)) response.body = pipeline(response.body, limitResponse(), () => undefined);
      return result;
    },
    // After the step that reads the body.
    { step: 'deserialize', priority: 'low', name: 'limitResponses' },
  );
}

const hasBody = (response: unknown): response is { body: Readable } =>
  typeof response === 'object' && response !== null && 'body' in response && response.body instanceof Readable;

/** All ELBv2 actions that are used, and so the required permissions. */
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

/** The used part of the SDK client. */
export type Elb = Pick<ElasticLoadBalancingV2, Uncapitalize<(typeof elbActions)[number]>>;
