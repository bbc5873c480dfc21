// Security groups and the EC2 calls for them.
import type { Input, Output } from './wire.ts';
import { ElbError, pairsIn, structures, text, texts } from './wire.ts';

interface SecurityGroupRecord {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly vpc: string;
  /** `tcp 80-80 192.0.2.0/24`. */
  readonly rules: Set<string>;
  readonly tags: Map<string, string>;
  /** Remaining failures to delete it after the deletion of its load balancer. */
  inUse: number;
}

/** The security groups of an account with one VPC. */
export class SecurityGroups {
  readonly all = new Map<string, SecurityGroupRecord>();
  readonly #isUsed: (id: string) => boolean;
  #serial = 0;

  constructor(isUsed: (id: string) => boolean) {
    this.#isUsed = isUsed;
  }

  group(id: string): SecurityGroupRecord {
    const found = this.all.get(id);
    if (found === undefined) throw new ElbError('InvalidGroup.NotFound', `The security group '${id}' does not exist`);
    return found;
  }

  /** Validates the groups of a load balancer. Groups that begin with `sg-named` exist. */
  assertThere(ids: readonly string[]): void {
    const missing = ids.find((id) => !this.all.has(id) && !id.startsWith('sg-named'));
    if (missing !== undefined) throw new ElbError('InvalidSecurityGroup', `security group '${missing}' is not there`);
  }

  create(input: Input): string {
    const [name, vpc] = [text(input, 'GroupName'), text(input, 'VpcId')];
    if (name === '' || name.startsWith('sg-')) throw new ElbError('InvalidParameterValue', `no name: '${name}'`);
    if (Array.from(this.all.values()).some((group) => group.name === name && group.vpc === vpc))
      throw new ElbError('InvalidGroup.Duplicate', `The security group '${name}' already exists for VPC '${vpc}'`);
    const id = `sg-${(++this.#serial).toString(16).padStart(8, '0')}`;
    const tags = structures(input, 'TagSpecification').flatMap((each) => [...pairsIn(each, 'Tag')]);
    const description = text(input, 'GroupDescription');
    this.all.set(id, { id, name, description, vpc, rules: new Set(), tags: new Map(tags), inUse: 0 });
    return id;
  }

  delete(id: string): void {
    const group = this.group(id);
    if (this.#isUsed(id) || group.inUse-- > 0)
      throw new ElbError('DependencyViolation', `resource ${id} has a dependent object`);
    this.all.delete(id);
  }

  /** Handles the deletion of a load balancer with these groups. */
  release(id: string, inUse: number): void {
    const group = this.all.get(id);
    if (group !== undefined) group.inUse = inUse;
  }

  authorize(input: Input): void {
    const { rules } = this.group(text(input, 'GroupId'));
    const requested = rulesIn(input);
    const twice = requested.find((rule) => rules.has(rule));
    if (twice !== undefined) throw new ElbError('InvalidPermission.Duplicate', `the rule "${twice}" already exists`);
    for (const rule of requested) rules.add(rule);
  }

  revoke(input: Input): void {
    const { rules } = this.group(text(input, 'GroupId'));
    const missing = rulesIn(input).find((rule) => !rules.has(rule));
    if (missing !== undefined) throw new ElbError('InvalidPermission.NotFound', `there is no rule "${missing}"`);
    for (const rule of rulesIn(input)) rules.delete(rule);
  }

  /** Small pages, so that tests cover paging. */
  describe(input: Input): Output {
    const start = Number(text(input, 'NextToken') || 0);
    const fits = (group: SecurityGroupRecord): boolean =>
      structures(input, 'Filter').every((filter) => isFit(group, text(filter, 'Name'), texts(filter, 'Value')));
    const found = Array.from(this.all.values()).filter(fits);
    const securityGroupInfo = found.slice(start, start + 2).map(output);
    return { securityGroupInfo, ...(found.length > start + 2 ? { nextToken: String(start + 2) } : {}) };
  }
}

type Call = (groups: SecurityGroups, input: Input) => Output;

/** A call with an empty response. */
const withoutResult =
  (act: (groups: SecurityGroups, input: Input) => void): Call =>
  (groups, input) => {
    act(groups, input);
    return { return: true };
  };

/** By the name of the action. */
export const ec2Calls: Readonly<Record<string, Call>> = {
  DescribeSubnets: (_, input) => ({ subnetSet: texts(input, 'SubnetId').map((subnetId) => ({ subnetId, vpcId })) }),
  DescribeSecurityGroups: (groups, input) => groups.describe(input),
  CreateSecurityGroup: (groups, input) => ({ return: true, groupId: groups.create(input) }),
  AuthorizeSecurityGroupIngress: withoutResult((groups, input) => groups.authorize(input)),
  RevokeSecurityGroupIngress: withoutResult((groups, input) => groups.revoke(input)),
  DeleteSecurityGroup: withoutResult((groups, input) => groups.delete(text(input, 'GroupId'))),
  CreateTags: withoutResult((groups, input) => {
    for (const id of texts(input, 'ResourceId'))
      for (const [name, value] of pairsIn(input, 'Tag')) groups.group(id).tags.set(name, value);
  }),
};

const vpcId = 'vpc-0a1b';

function isFit(group: SecurityGroupRecord, name: string, values: readonly string[]): boolean {
  if (name === 'group-name') return values.includes(group.name);
  if (name === 'tag-key') return values.some((value) => group.tags.has(value));
  if (name.startsWith('tag:')) return values.includes(group.tags.get(name.slice(4)) ?? '');
  throw new ElbError('InvalidParameterValue', `The filter '${name}' is invalid`);
}

const rulesIn = (input: Input): readonly string[] =>
  structures(input, 'IpPermissions').flatMap((each) => {
    const ports = `${text(each, 'IpProtocol')} ${text(each, 'FromPort')}-${text(each, 'ToPort')}`;
    const sources = [
      ...structures(each, 'IpRanges').map((range) => text(range, 'CidrIp')),
      ...structures(each, 'Ipv6Ranges').map((range) => text(range, 'CidrIpv6')),
    ];
    return sources.map((source) => `${ports} ${source}`);
  });

const output = ({ id, name, description, vpc, rules, tags }: SecurityGroupRecord): Output => ({
  groupId: id,
  groupName: name,
  groupDescription: description,
  vpcId: vpc,
  ipPermissions: Array.from(rules, (rule) => {
    const [ipProtocol = '', ports = '', source = ''] = rule.split(' ');
    const [fromPort = '', toPort = ''] = ports.split('-');
    const isV6 = source.includes(':');
    return {
      ipProtocol,
      fromPort,
      toPort,
      groups: [],
      ipRanges: isV6 ? [] : [{ cidrIp: source }],
      ipv6Ranges: isV6 ? [{ cidrIpv6: source }] : [],
    };
  }),
  tagSet: Array.from(tags, ([key, value]) => ({ key, value })),
});
