// The ELBv2 calls that the adapter uses.
import type { Account } from './account.ts';
import { setHealth } from './account.ts';
import { balancerOutput, groupOutput, listenerOutput } from './output.ts';
import type { BalancerRecord, GroupRecord } from './records.ts';
import type { Input, Output } from './wire.ts';
import { asPairs, ElbError, pairsIn, structures, text, texts } from './wire.ts';

type Call = (account: Account, input: Input) => Output;

const ofBalancer = (account: Account, input: Input): BalancerRecord => account.balancer(text(input, 'LoadBalancerArn'));
const ofGroup = (account: Account, input: Input): GroupRecord => account.group(text(input, 'TargetGroupArn'));
const grouped = (account: Account, group: GroupRecord): Output => groupOutput(group, account.balancersOf(group.arn));

/** A call with an empty response. */
const withoutResult =
  (act: (account: Account, input: Input) => void): Call =>
  (account, input) => {
    act(account, input);
    return {};
  };

/** By the name of the action. */
export const calls: Readonly<Record<string, Call>> = {
  CreateLoadBalancer: (account, input) => ({ LoadBalancers: [balancerOutput(account.createBalancer(input))] }),
  CreateTargetGroup: (account, input) => ({ TargetGroups: [grouped(account, account.createGroup(input))] }),
  CreateListener: (account, input) => ({ Listeners: [listenerOutput(account.createListener(input))] }),
  ModifyListener: (account, input) => ({ Listeners: [listenerOutput(account.modifyListener(input))] }),
  DeleteLoadBalancer: withoutResult((account, input) => account.deleteBalancer(text(input, 'LoadBalancerArn'))),
  DeleteTargetGroup: withoutResult((account, input) => account.deleteGroup(text(input, 'TargetGroupArn'))),
  DeleteListener: withoutResult((account, input) => account.deleteListener(text(input, 'ListenerArn'))),
  RegisterTargets: withoutResult((account, input) => account.register(input)),
  DeregisterTargets: withoutResult((account, input) => account.deregister(input)),

  DescribeLoadBalancers(account, input) {
    const names = texts(input, 'Names');
    const requested = Array.from(account.balancers.values()).filter(
      ({ name }) => names.length === 0 || names.includes(name),
    );
    const visible = requested.filter((each) => each.hidden-- <= 0);
    if (names.length > 0 && visible.length === 0) throw new ElbError('LoadBalancerNotFound', 'not found');
    for (const each of visible) each.provisioning = Math.max(0, each.provisioning - 1);
    return page(input, 'LoadBalancers', visible.map(balancerOutput));
  },
  DescribeTargetGroups: (account, input) =>
    page(
      input,
      'TargetGroups',
      Array.from(account.groups.values(), (group) => grouped(account, group)),
    ),
  DescribeListeners: (account, input) =>
    page(input, 'Listeners', Array.from(ofBalancer(account, input).listeners.values(), listenerOutput)),
  DescribeTargetHealth: (account, input) => ({
    TargetHealthDescriptions: [
      ...Array.from(ofGroup(account, input).targets, (Id) => health(Id, 'initial')),
      ...Array.from(ofGroup(account, input).draining, (Id) => health(Id, 'draining')),
    ],
  }),
  DescribeTags(account, input) {
    const arns = texts(input, 'ResourceArns');
    if (arns.length > 20) throw new ElbError('ValidationError', 'at most 20 resources');
    const TagDescriptions = arns.map((arn) => ({ ResourceArn: arn, Tags: asPairs(tagged(account, arn).tags) }));
    return { TagDescriptions };
  },
  AddTags(account, input) {
    for (const arn of texts(input, 'ResourceArns'))
      for (const [name, value] of pairsIn(input, 'Tags')) tagged(account, arn).tags.set(name, value);
    return {};
  },
  DescribeLoadBalancerAttributes: (account, input) => ({ Attributes: asPairs(ofBalancer(account, input).attributes) }),
  DescribeTargetGroupAttributes: (account, input) => ({ Attributes: asPairs(ofGroup(account, input).attributes) }),
  ModifyLoadBalancerAttributes: (account, input) => setAttributes(ofBalancer(account, input), input),
  ModifyTargetGroupAttributes: (account, input) => setAttributes(ofGroup(account, input), input),
  ModifyTargetGroup(account, input) {
    const group = ofGroup(account, input);
    setHealth(group, input);
    return { TargetGroups: [grouped(account, group)] };
  },
  SetSubnets(account, input) {
    ofBalancer(account, input).subnets = texts(input, 'Subnets');
    return {};
  },
  SetSecurityGroups(account, input) {
    const balancer = ofBalancer(account, input);
    if (balancer.securityGroups.length === 0)
      throw new ElbError('InvalidConfigurationRequest', 'it was created without security groups');
    account.securityGroups.assertThere(texts(input, 'SecurityGroups'));
    balancer.securityGroups = texts(input, 'SecurityGroups');
    return {};
  },
  SetIpAddressType(account, input) {
    ofBalancer(account, input).addressType = text(input, 'IpAddressType');
    return {};
  },
};

/** Small pages, so that tests cover paging. */
function page(input: Input, name: string, items: readonly Output[]): Output {
  const [start, size] = [Number(text(input, 'Marker') || 0), Math.min(Number(text(input, 'PageSize') || 400), 3)];
  const isMore = start + size < items.length;
  return { [name]: items.slice(start, start + size), ...(isMore ? { NextMarker: String(start + size) } : {}) };
}

function health(target: string, State: string): Output {
  const [Id, Port] = target.split(':');
  return { Target: { Id, Port }, TargetHealth: { State } };
}

const tagged = (account: Account, arn: string): BalancerRecord | GroupRecord =>
  arn.includes(':targetgroup/') ? account.group(arn) : account.balancer(arn);

function setAttributes(record: BalancerRecord | GroupRecord, input: Input): Output {
  if (structures(input, 'Attributes').length === 0) throw new ElbError('ValidationError', 'which attributes?');
  for (const [name, value] of pairsIn(input, 'Attributes')) record.attributes.set(name, value);
  return { Attributes: asPairs(record.attributes) };
}
