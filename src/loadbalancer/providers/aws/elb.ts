import type { ElasticLoadBalancingV2 } from '@aws-sdk/client-elastic-load-balancing-v2';

/** Everything that is asked of ELBv2, and so everything that has to be permitted. */
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
