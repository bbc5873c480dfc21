// Reads the AWS resources of a Service: found by name, with ownership checked by tags.
import type { Listener, LoadBalancer, TargetGroup } from '@aws-sdk/client-elastic-load-balancing-v2';
import type { ServiceIdentity } from '../../controller/provider.ts';
import type { Aws } from './connect.ts';
import { isGone } from './errors.ts';
import type { Found, FoundBalancer, FoundGroup, FoundListener } from './found.ts';
import type { Owner } from './names.ts';
import { targetText } from './targets.ts';
import { asRecord, balancerName, familyPrefix, filtersFor, ownerFromTags, prefixOf } from './names.ts';

/** The AWS clients and the signal that aborts calls. */
export interface Session extends Aws {
  readonly signal: AbortSignal;
}

/** All resources of a Service, also those that a crash left without a load balancer. */
export async function describe(session: Session, owner: Owner): Promise<Found> {
  const { elb, ec2, signal: abortSignal } = session;
  const [securityGroup] = await ec2.securityGroups({ 'group-name': balancerName(owner) }, abortSignal);
  const [balancer] = await balancersNamed(session, balancerName(owner));
  const groups = await groupsWith(session, prefixOf(owner));
  const arns = [...(balancer === undefined ? [] : [arnOf(balancer)]), ...groups.map(groupArn)];
  const tags = await tagsOf(session, arns);
  if (securityGroup !== undefined) tags.set(securityGroup.id, securityGroup.tags);
  const foreign = Array.from(tags.keys()).find(
    (id) => ownerFromTags(owner.cluster, tags.get(id) ?? {})?.uid !== owner.uid,
  );
  if (foreign !== undefined) throw notOurs(foreign, owner);
  const found: FoundGroup[] = [];
  // Sequential, because the rate limit of an account is low and shared with other Services.
  for (const group of groups) found.push(await groupOf(session, group, tags.get(groupArn(group)) ?? {}));
  const guard = securityGroup === undefined ? {} : { securityGroup };
  if (balancer === undefined) return { ...guard, groups: found, listeners: [] };
  const LoadBalancerArn = arnOf(balancer);
  const listeners = await pagesOf(
    (Marker) => elb.describeListeners({ LoadBalancerArn, Marker }, { abortSignal }),
    ({ Listeners }) => Listeners,
  );
  const { Attributes } = await elb.describeLoadBalancerAttributes({ LoadBalancerArn }, { abortSignal });
  return {
    ...guard,
    balancer: balancerOf(balancer, tags.get(LoadBalancerArn) ?? {}, asRecord(Attributes)),
    groups: found,
    listeners: listeners.map(listenerOf),
  };
}

/** The Services that own resources in a cluster. */
export async function owners(session: Session, cluster: string): Promise<readonly ServiceIdentity[]> {
  const isNamedByUs = (name = ''): boolean => name.startsWith(familyPrefix);
  const balancers = (await balancersNamed(session)).filter(({ LoadBalancerName }) => isNamedByUs(LoadBalancerName));
  const groups = await groupsWith(session, familyPrefix);
  const tags = await tagsOf(session, [...balancers.map(arnOf), ...groups.map(groupArn)]);
  const securityGroups = await session.ec2.securityGroups(filtersFor(cluster), session.signal);
  const all = [...tags.values(), ...securityGroups.map((group) => group.tags)];
  const found = all.flatMap((each) => ownerFromTags(cluster, each) ?? []);
  return Array.from(new Map(found.map((owner) => [owner.uid, owner])).values());
}

const notOurs = (arn: string, { namespace, name, cluster }: Owner): Error =>
  new Error(`${arn} has the name for ${namespace}/${name} of cluster ${cluster} but not its tags: delete it`);

/** All load balancers, or the one with a name. */
async function balancersNamed(session: Session, name?: string): Promise<readonly LoadBalancer[]> {
  const { elb, signal: abortSignal } = session;
  const which = name === undefined ? { PageSize: 400 } : { Names: [name] };
  try {
    return await pagesOf(
      (Marker) => elb.describeLoadBalancers({ ...which, Marker }, { abortSignal }),
      ({ LoadBalancers }) => LoadBalancers,
    );
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

/** AWS cannot search by prefix, so all groups are listed, 400 per call. */
async function groupsWith({ elb, signal: abortSignal }: Session, prefix: string): Promise<readonly TargetGroup[]> {
  const all = await pagesOf(
    (Marker) => elb.describeTargetGroups({ PageSize: 400, Marker }, { abortSignal }),
    ({ TargetGroups }) => TargetGroups,
  );
  return all.filter(({ TargetGroupName = '' }) => TargetGroupName.startsWith(prefix));
}

/** ARN → tags; AWS accepts 20 ARNs per call. */
async function tagsOf(
  { elb, signal: abortSignal }: Session,
  arns: readonly string[],
): Promise<Map<string, Readonly<Record<string, string>>>> {
  const parts = Array.from({ length: Math.ceil(arns.length / 20) }, (_, part) => arns.slice(part * 20, part * 20 + 20));
  const tags = new Map<string, Readonly<Record<string, string>>>();
  for (const ResourceArns of parts) {
    const { TagDescriptions = [] } = await elb.describeTags({ ResourceArns }, { abortSignal });
    for (const { ResourceArn = '', Tags } of TagDescriptions) tags.set(ResourceArn, asRecord(Tags));
  }
  return tags;
}

async function pagesOf<Page extends { NextMarker?: string | undefined }, T>(
  read: (marker: string | undefined) => Promise<Page>,
  itemsOf: (page: Page) => readonly T[] | undefined,
): Promise<readonly T[]> {
  const all: T[] = [];
  let marker: string | undefined;
  do {
    const page = await read(marker);
    all.push(...(itemsOf(page) ?? []));
    marker = page.NextMarker;
  } while (marker !== undefined && marker !== '');
  return all;
}

const arnOf = ({ LoadBalancerArn = '' }: LoadBalancer): string => LoadBalancerArn;
const groupArn = ({ TargetGroupArn = '' }: TargetGroup): string => TargetGroupArn;

type Words = Readonly<Record<string, string>>;

/** A load balancer from the form of the SDK. */
export function balancerOf(balancer: LoadBalancer, tags: Words, attributes: Words): FoundBalancer {
  const { AvailabilityZones: zones = [] } = balancer;
  return {
    arn: arnOf(balancer),
    name: balancer.LoadBalancerName ?? '',
    hostname: balancer.DNSName ?? '',
    scheme: balancer.Scheme ?? '',
    vpc: balancer.VpcId ?? '',
    addressType: balancer.IpAddressType ?? 'ipv4',
    subnets: zones.flatMap(({ SubnetId }) => SubnetId ?? []),
    elasticAddresses: zones.flatMap(({ LoadBalancerAddresses = [] }) =>
      LoadBalancerAddresses.flatMap(({ AllocationId = '' }) => AllocationId || []),
    ),
    securityGroups: balancer.SecurityGroups ?? [],
    state: balancer.State?.Code ?? '',
    reason: balancer.State?.Reason ?? '',
    tags,
    attributes,
  };
}

async function groupOf({ elb, signal: abortSignal }: Session, group: TargetGroup, tags: Words): Promise<FoundGroup> {
  const TargetGroupArn = groupArn(group);
  const targetType = group.TargetType === 'ip' ? 'ip' : 'instance';
  const [{ Attributes }, { TargetHealthDescriptions = [] }] = await Promise.all([
    elb.describeTargetGroupAttributes({ TargetGroupArn }, { abortSignal }),
    elb.describeTargetHealth({ TargetGroupArn }, { abortSignal }),
  ]);
  return {
    arn: TargetGroupArn,
    name: group.TargetGroupName ?? '',
    targetType,
    protocol: group.Protocol ?? '',
    port: group.Port ?? 0,
    health: {
      protocol: group.HealthCheckProtocol ?? '',
      port: group.HealthCheckPort ?? '',
      path: group.HealthCheckPath ?? '',
      intervalSeconds: group.HealthCheckIntervalSeconds ?? 0,
      timeoutSeconds: group.HealthCheckTimeoutSeconds ?? 0,
      healthyThreshold: group.HealthyThresholdCount ?? 0,
      unhealthyThreshold: group.UnhealthyThresholdCount ?? 0,
    },
    tags,
    attributes: asRecord(Attributes),
    targets: TargetHealthDescriptions.flatMap(({ Target, TargetHealth }) =>
      TargetHealth?.State === 'draining' ? [] : targetText(targetType, Target),
    ),
  };
}

const listenerOf = (listener: Listener): FoundListener => ({
  arn: listener.ListenerArn ?? '',
  port: listener.Port ?? 0,
  protocol: listener.Protocol ?? '',
  group: listener.DefaultActions?.[0]?.TargetGroupArn ?? '',
  certificate: listener.Certificates?.[0]?.CertificateArn ?? '',
  tlsPolicy: listener.SslPolicy ?? '',
});
