import type { LoadBalancer, TargetGroup } from '@aws-sdk/client-elastic-load-balancing-v2';

import type { Aws, Elb } from '../../../src/loadbalancer/providers/aws/connect.ts';
import type { Rule } from '../../../src/loadbalancer/providers/aws/found.ts';

/** A server of ELBv2 and EC2 with an account that contains only these. */
export interface Peer extends Aws, AsyncDisposable {
  readonly subnets: readonly string[];
  /** Three running instances. */
  readonly instances: readonly string[];
}

/**
 * The content of an account as lines: load balancers with their listeners, then unused target groups, then managed security
 * groups.
 */
export async function inventory({ elb, ec2 }: Aws): Promise<readonly string[]> {
  const { LoadBalancers = [] } = await elb.describeLoadBalancers({});
  const groups = new Map((await groupsIn(elb)).map((group) => [group.TargetGroupArn ?? '', group]));
  const lines: string[] = [];
  for (const balancer of LoadBalancers) {
    lines.push(`${balancer.Type} ${balancer.Scheme} for ${await serviceOf(elb, balancer)}`);
    const { Listeners = [] } = await elb.describeListeners({ LoadBalancerArn: balancer.LoadBalancerArn });
    for (const { Port, Protocol, DefaultActions: [action] = [] } of Listeners) {
      const group = groups.get(action?.TargetGroupArn ?? '') ?? {};
      lines.push(`${Port}/${Protocol} → ${await groupText(elb, group)}`);
    }
  }
  const stray = Array.from(groups.values()).filter(({ LoadBalancerArns = [] }) => LoadBalancerArns.length === 0);
  const used = new Set(LoadBalancers.flatMap(({ SecurityGroups = [] }) => SecurityGroups));
  const guards = (
    await ec2.securityGroups({ 'tag-key': 'fairlead.dev/service-uid' }, new AbortController().signal)
  ).map(({ id, rules }) => `${used.has(id) ? 'in' : 'unused: in'} ${rules.map(ruleText).toSorted().join(', ')}`);
  return [...lines, ...stray.map(({ TargetGroupName }) => `nobody → ${TargetGroupName}`), ...guards];
}

const ruleText = ({ protocol, from, to, source }: Rule): string =>
  `${from === to ? from : `${from}-${to}`}/${protocol} from ${source}`;

/** All pages. */
export async function groupsIn(elb: Elb): Promise<readonly TargetGroup[]> {
  const groups: TargetGroup[] = [];
  let Marker: string | undefined;
  do {
    const { TargetGroups = [], NextMarker } = await elb.describeTargetGroups({ Marker });
    groups.push(...TargetGroups);
    Marker = NextMarker;
  } while (Marker !== undefined);
  return groups;
}

async function serviceOf(elb: Elb, { LoadBalancerArn = '' }: LoadBalancer): Promise<string> {
  const { TagDescriptions = [] } = await elb.describeTags({ ResourceArns: [LoadBalancerArn] });
  return TagDescriptions[0]?.Tags?.find(({ Key }) => Key === 'kubernetes.io/service-name')?.Value ?? 'nobody';
}

async function groupText(elb: Elb, group: TargetGroup): Promise<string> {
  const { TargetGroupArn, TargetType, Protocol, Port, HealthCheckProtocol, HealthCheckPort, HealthCheckPath } = group;
  const { TargetHealthDescriptions = [] } = await elb.describeTargetHealth({ TargetGroupArn });
  const targets = TargetHealthDescriptions.filter(({ TargetHealth }) => TargetHealth?.State !== 'draining')
    .map(({ Target }) => (TargetType === 'ip' ? `${Target?.Id}:${Target?.Port}` : (Target?.Id ?? '')))
    .toSorted();
  const check = [HealthCheckProtocol, HealthCheckPort, HealthCheckPath].filter(Boolean);
  return `${Protocol} ${Port} at ${targets.join(' ')}, checked by ${check.join(' ')}`;
}
