// The calls that change the existing AWS resources into the desired ones, in an order that closes no remaining port.
import type {
  CreateListenerInput,
  CreateLoadBalancerInput,
  CreateTargetGroupInput,
  ModifyListenerInput,
  ModifyTargetGroupInput,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import type { Found, FoundBalancer, FoundGroup, FoundHealth, FoundListener } from './found.ts';
import { asTags } from './names.ts';
import type { SecurityGroupStep } from './security-group.ts';
import { stepsAfter, stepsBefore } from './security-group.ts';
import type { HealthCheck } from './settings.ts';
import type { Desired, DesiredGroup, DesiredListener } from './desired.ts';

/** Attributes or tags. */
type StringMap = Readonly<Record<string, string>>;

type SubnetSettings = Pick<CreateLoadBalancerInput, 'Subnets' | 'SubnetMappings'>;

/**
 * One call. Values that earlier calls return are filled in on execution: ARN and VPC of the load balancer, the ARN of the
 * target group with the name `group`, and the ID of the managed security group, which is given by name.
 */
export type Step =
  | SecurityGroupStep
  | { readonly call: 'CreateLoadBalancer'; readonly input: CreateLoadBalancerInput }
  | { readonly call: 'SetSubnets'; readonly input: SubnetSettings }
  | { readonly call: 'SetSecurityGroups'; readonly groups: readonly string[] }
  | { readonly call: 'SetIpAddressType'; readonly addressType: Desired['addressType'] }
  | { readonly call: 'AddTags'; readonly arn: string; readonly tags: StringMap }
  | { readonly call: 'ModifyLoadBalancerAttributes'; readonly attributes: StringMap }
  | { readonly call: 'CreateTargetGroup'; readonly input: Omit<CreateTargetGroupInput, 'VpcId'> }
  | {
      readonly call: 'ModifyTargetGroup';
      readonly group: string;
      readonly input: Omit<ModifyTargetGroupInput, 'TargetGroupArn'>;
    }
  | { readonly call: 'ModifyTargetGroupAttributes'; readonly group: string; readonly attributes: StringMap }
  | {
      readonly call: 'RegisterTargets' | 'DeregisterTargets';
      readonly group: string;
      readonly targets: readonly string[];
    }
  | {
      readonly call: 'CreateListener';
      readonly group: string;
      readonly input: Omit<CreateListenerInput, 'LoadBalancerArn' | 'DefaultActions'>;
    }
  | {
      readonly call: 'ModifyListener';
      readonly group: string;
      readonly input: Omit<ModifyListenerInput, 'DefaultActions'>;
    }
  | { readonly call: 'DeleteListener' | 'DeleteLoadBalancer' | 'DeleteTargetGroup'; readonly arn: string };

/** The AWS limit of targets per call. */
const maxTargets = 200;

/** Creations come first and deletions last. Empty if everything is up to date. */
export function stepsTo(desired: Desired, found: Found): readonly Step[] {
  const groupOf = (name: string): FoundGroup | undefined => found.groups.find((group) => group.name === name);
  const isDesired = ({ name }: FoundGroup): boolean => desired.groups.some((group) => group.name === name);
  const kept = found.groups.filter(isDesired);
  const [subnet = ''] = desired.subnets;
  return [
    ...stepsBefore(desired.securityGroup, found.securityGroup, { tags: desired.tags, subnet }),
    ...balancerSteps(desired, found),
    ...tagSteps(desired.tags, [...(found.balancer === undefined ? [] : [found.balancer]), ...kept]),
    ...desired.groups.flatMap((group) => groupSteps(group, desired, groupOf(group.name))),
    ...desired.groups.flatMap(({ name, targets }) => registrations(name, targets, groupOf(name)?.targets ?? [])),
    ...desired.listeners.flatMap((listener) =>
      listenerSteps(listener, desired, { found, arn: groupOf(listener.group)?.arn }),
    ),
    ...found.listeners
      .filter(({ port }) => !desired.listeners.some((listener) => listener.port === port))
      .map(({ arn }) => ({ call: 'DeleteListener', arn }) as const),
    ...desired.groups.flatMap(({ name, targets }) => deregistrations(name, targets, groupOf(name)?.targets ?? [])),
    ...found.groups
      .filter((group) => !isDesired(group))
      .map(({ arn }) => ({ call: 'DeleteTargetGroup', arn }) as const),
    ...stepsAfter(desired.securityGroup, found.securityGroup),
  ];
}

/** The steps that only change targets. If `targetsOf` returns undefined, the group keeps its targets. */
export function targetSteps(
  targetsOf: (group: FoundGroup) => readonly string[] | undefined,
  { groups }: Found,
): readonly Step[] {
  const all = groups.map((group) => ({ ...group, desired: targetsOf(group) ?? group.targets }));
  return [
    ...all.flatMap(({ name, targets, desired }) => registrations(name, desired, targets)),
    ...all.flatMap(({ name, targets, desired }) => deregistrations(name, desired, targets)),
  ];
}

/** The steps that delete everything. AWS does not delete groups that a listener or load balancer uses. */
export const removalSteps = ({ securityGroup, balancer, groups, listeners }: Found): readonly Step[] => [
  ...listeners.map(({ arn }) => ({ call: 'DeleteListener', arn }) as const),
  ...(balancer === undefined ? [] : [{ call: 'DeleteLoadBalancer', arn: balancer.arn } as const]),
  ...groups.map(({ arn }) => ({ call: 'DeleteTargetGroup', arn }) as const),
  ...stepsAfter(undefined, securityGroup),
];

function balancerSteps(desired: Desired, { balancer, securityGroup }: Found): readonly Step[] {
  const attributes = differing(desired.attributes, balancer?.attributes ?? {});
  const named = desired.securityGroups.map((name) => (name === securityGroup?.name ? securityGroup.id : name));
  return [
    ...(balancer === undefined
      ? [creation(desired)]
      : balancerChanges({ ...desired, securityGroups: named }, balancer)),
    ...stepIf(!isEmpty(attributes), { call: 'ModifyLoadBalancerAttributes', attributes }),
  ];
}

function creation(desired: Desired): Step {
  const { name, scheme, addressType, securityGroups, tags } = desired;
  return {
    call: 'CreateLoadBalancer',
    input: {
      Name: name,
      Type: 'network',
      Scheme: scheme,
      IpAddressType: addressType,
      Tags: asTags(tags),
      ...subnetSettings(desired),
      ...(securityGroups.length === 0 ? {} : { SecurityGroups: [...securityGroups] }),
    },
  };
}

/** Subnets, with an elastic address for each if there are any. */
const subnetSettings = ({ subnets, elasticAddresses }: Desired): SubnetSettings =>
  elasticAddresses.length === 0
    ? { Subnets: [...subnets] }
    : { SubnetMappings: subnets.map((SubnetId, index) => ({ SubnetId, AllocationId: elasticAddresses[index] })) };

function balancerChanges(desired: Desired, found: FoundBalancer): readonly Step[] {
  const { subnets, securityGroups, addressType } = desired;
  const isOther = (list: readonly string[], old: readonly string[]): boolean =>
    list.length > 0 && !isSameSet(list, old);
  return [
    ...stepIf(isOther(subnets, found.subnets), { call: 'SetSubnets', input: subnetSettings(desired) }),
    ...stepIf(isOther(securityGroups, found.securityGroups), { call: 'SetSecurityGroups', groups: securityGroups }),
    ...stepIf(addressType !== found.addressType, { call: 'SetIpAddressType', addressType }),
  ];
}

/** Adds missing or changed tags; foreign tags stay. */
function tagSteps(tags: StringMap, tagged: readonly (FoundBalancer | FoundGroup)[]): readonly Step[] {
  const isTagged = (found: StringMap): boolean => Object.entries(tags).every(([name, value]) => found[name] === value);
  return tagged.filter((each) => !isTagged(each.tags)).map(({ arn }) => ({ call: 'AddTags', arn, tags }));
}

function groupSteps(group: DesiredGroup, { tags }: Desired, found: FoundGroup | undefined): readonly Step[] {
  const { name, targetType, protocol, port } = group;
  const health = healthInput(group.health);
  const shape = { Name: name, TargetType: targetType, Protocol: protocol, Port: port } as const;
  const isChecked = found === undefined || isSameHealth(group.health, found.health);
  const attributes = differing(group.attributes, found?.attributes ?? {});
  return [
    ...stepIf(found === undefined, { call: 'CreateTargetGroup', input: { ...shape, ...health, Tags: asTags(tags) } }),
    ...stepIf(!isChecked, { call: 'ModifyTargetGroup', group: name, input: health }),
    ...stepIf(!isEmpty(attributes), { call: 'ModifyTargetGroupAttributes', group: name, attributes }),
  ];
}

const healthInput = (health: HealthCheck): Omit<ModifyTargetGroupInput, 'TargetGroupArn'> => ({
  HealthCheckProtocol: health.protocol,
  HealthCheckPort: health.port,
  // AWS rejects a path for other protocols than HTTP and HTTPS.
  HealthCheckPath: health.protocol === 'TCP' ? undefined : health.path,
  HealthCheckIntervalSeconds: health.intervalSeconds,
  HealthCheckTimeoutSeconds: health.timeoutSeconds,
  HealthyThresholdCount: health.healthyThreshold,
  UnhealthyThresholdCount: health.unhealthyThreshold,
});

function isSameHealth(desired: HealthCheck, found: FoundHealth): boolean {
  const { path, ...rest } = desired;
  const fields: Partial<FoundHealth> = desired.protocol === 'TCP' || path === undefined ? rest : { ...rest, path };
  return Object.entries(fields).every(([name, value]) => found[name as keyof FoundHealth] === value); // a cast to its own keys
}

interface ExistingTarget {
  readonly found: Found;
  /** ARN of the target group, if it exists. */
  readonly arn: string | undefined;
}

function listenerSteps(listener: DesiredListener, { tags }: Desired, { found, arn }: ExistingTarget): readonly Step[] {
  const { port, protocol, group, certificate, tlsPolicy } = listener;
  const old = found.listeners.find((each) => each.port === port);
  const tls = {
    ...(certificate === undefined ? {} : { Certificates: [{ CertificateArn: certificate }] }),
    ...(tlsPolicy === undefined ? {} : { SslPolicy: tlsPolicy }),
  };
  if (old === undefined)
    return [{ call: 'CreateListener', group, input: { Port: port, Protocol: protocol, ...tls, Tags: asTags(tags) } }];
  if (isSameListener(listener, old) && old.group === arn) return [];
  const change = old.protocol === protocol ? {} : { Protocol: protocol };
  return [{ call: 'ModifyListener', group, input: { ListenerArn: old.arn, ...change, ...tls } }];
}

const isSameListener = ({ protocol, certificate = '', tlsPolicy }: DesiredListener, old: FoundListener): boolean =>
  protocol === old.protocol && certificate === old.certificate && (tlsPolicy ?? old.tlsPolicy) === old.tlsPolicy;

const stepIf = (isNeeded: boolean, step: Step): readonly Step[] => (isNeeded ? [step] : []);

const registrations = (group: string, desired: readonly string[], found: readonly string[]): readonly Step[] =>
  inBatches(without(desired, found)).map((targets) => ({ call: 'RegisterTargets', group, targets }));

const deregistrations = (group: string, desired: readonly string[], found: readonly string[]): readonly Step[] =>
  inBatches(without(found, desired)).map((targets) => ({ call: 'DeregisterTargets', group, targets }));

const inBatches = (targets: readonly string[]): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(targets.length / maxTargets) }, (_, part) =>
    targets.slice(part * maxTargets, (part + 1) * maxTargets),
  );

const without = (all: readonly string[], some: readonly string[]): readonly string[] =>
  all.filter((each) => !some.includes(each));

/** Attributes that AWS does not list count as `false`. */
const differing = (desired: StringMap, found: StringMap): StringMap =>
  Object.fromEntries(Object.entries(desired).filter(([name, value]) => (found[name] ?? 'false') !== value));

const isEmpty = (words: StringMap): boolean => Object.keys(words).length === 0;

const isSameSet = (one: readonly string[], other: readonly string[]): boolean =>
  one.toSorted().join() === other.toSorted().join();
