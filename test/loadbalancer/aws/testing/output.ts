// Resources in the output format of AWS.
import type { BalancerRecord, GroupRecord, ListenerRecord } from './records.ts';
import type { Output } from './wire.ts';

/** A load balancer in the AWS format. */
export const balancerOutput = (balancer: BalancerRecord): Output => ({
  LoadBalancerArn: balancer.arn,
  LoadBalancerName: balancer.name,
  DNSName: `${balancer.name}-${balancer.arn.slice(-16)}.elb.eu-central-1.amazonaws.com`,
  Scheme: balancer.scheme,
  VpcId: 'vpc-0a1b',
  Type: 'network',
  IpAddressType: balancer.addressType,
  State: { Code: balancer.provisioning > 0 ? 'provisioning' : 'active' },
  AvailabilityZones: balancer.subnets.map((SubnetId, index) => ({
    SubnetId,
    ZoneName: `eu-central-1${'abcdef'[index] ?? 'z'}`,
    LoadBalancerAddresses: balancer.allocations.slice(index, index + 1).map((AllocationId) => ({ AllocationId })),
  })),
  SecurityGroups: balancer.securityGroups,
});

/** A target group in the AWS format. */
export const groupOutput = (group: GroupRecord, balancers: readonly string[]): Output => ({
  TargetGroupArn: group.arn,
  TargetGroupName: group.name,
  Protocol: group.protocol,
  Port: group.port,
  VpcId: group.vpc,
  TargetType: group.targetType,
  LoadBalancerArns: balancers,
  ...Object.fromEntries(Array.from(group.health).filter(([, value]) => value !== '')),
});

/** A listener in the AWS format. */
export const listenerOutput = (listener: ListenerRecord): Output => ({
  ListenerArn: listener.arn,
  Port: listener.port,
  Protocol: listener.protocol,
  DefaultActions: [{ Type: 'forward', TargetGroupArn: listener.group }],
  ...(listener.certificate === '' ? {} : { Certificates: [{ CertificateArn: listener.certificate }] }),
  ...(listener.policy === '' ? {} : { SslPolicy: listener.policy }),
});
