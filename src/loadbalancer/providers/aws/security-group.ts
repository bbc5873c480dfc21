// The managed security group of a load balancer without named groups. It allows clients in the source ranges of the Service
// at open ports. Created before the load balancer and deleted after it.
import { canonicalCidr } from '../../../api/addresses.ts';
import type { Service } from '../../../api/kinds/core/service/schema.ts';
import { sourceRanges } from '../../clouds/units.ts';
import type { ElbProtocol, FoundBalancer, FoundSecurityGroup, Rule } from './found.ts';
import type { Owner } from './names.ts';
import { balancerName } from './names.ts';
import { protocolsOf } from './found.ts';
import type { Settings } from './settings.ts';

export interface DesiredSecurityGroup {
  readonly name: string;
  readonly description: string;
  readonly rules: readonly Rule[];
}

/** Calls for the group with the name `group`; EC2 assigns the ID. */
export type SecurityGroupStep =
  | {
      readonly call: 'CreateSecurityGroup';
      readonly group: string;
      readonly description: string;
      /** Determines the VPC if there is no load balancer yet. */
      readonly subnet: string;
      readonly tags: Readonly<Record<string, string>>;
    }
  | { readonly call: 'CreateTags'; readonly id: string; readonly tags: Readonly<Record<string, string>> }
  | {
      readonly call: 'AuthorizeSecurityGroupIngress' | 'RevokeSecurityGroupIngress';
      readonly group: string;
      readonly rules: readonly Rule[];
    }
  | { readonly call: 'DeleteSecurityGroup'; readonly id: string };

/** Whether the group is managed: none is named, and the load balancer has groups, which is fixed at its creation. */
export const keepsSecurityGroup = (settings: Settings, balancer: FoundBalancer | undefined): boolean =>
  settings.securityGroups.length === 0 && (balancer === undefined || balancer.securityGroups.length > 0);

/** The source ranges of a Service; empty if all clients are allowed. */
export function narrowRanges(service: Service): readonly string[] {
  const ranges = sourceRanges({ service });
  return ranges.some((range) => !anySource.includes(range)) ? ranges : [];
}

const anySource = ['0.0.0.0/0', '::/0'];

/** The ports to open. */
interface ListenerPorts {
  readonly listeners: readonly { readonly port: number; readonly protocol: ElbProtocol }[];
  readonly isDualStack: boolean;
}

/** The desired security group. */
export function securityGroupFor(
  owner: Owner,
  service: Service,
  { listeners, isDualStack }: ListenerPorts,
): DesiredSecurityGroup {
  const ranges = sourceRanges({ service }).flatMap((range) => canonicalCidr(range.trim()) ?? []);
  const sources = ranges.length > 0 ? new Set(ranges) : anySource.slice(0, isDualStack ? 2 : 1);
  const rules = listeners.flatMap(({ port, protocol }) =>
    protocolsOf(protocol).flatMap((each) =>
      Array.from(sources, (source) => ({ protocol: each.toLowerCase(), from: port, to: port, source })),
    ),
  );
  const { namespace, name, cluster } = owner;
  const description = `clients of ${namespace}/${name} in cluster ${cluster}`;
  return { name: balancerName(owner), description, rules };
}

/** Steps before the load balancer is created or changed. */
export function stepsBefore(
  desired: DesiredSecurityGroup | undefined,
  found: FoundSecurityGroup | undefined,
  { tags, subnet }: { readonly tags: Readonly<Record<string, string>>; readonly subnet: string },
): readonly SecurityGroupStep[] {
  if (desired === undefined) return [];
  const { name, description } = desired;
  const rules = rulesWithout(desired.rules, found?.rules ?? []);
  const isTagged = Object.entries(tags).every(([tag, value]) => found?.tags[tag] === value);
  return [
    ...(found === undefined ? [{ call: 'CreateSecurityGroup', group: name, description, subnet, tags } as const] : []),
    ...(found === undefined || isTagged ? [] : [{ call: 'CreateTags', id: found.id, tags } as const]),
    ...(rules.length === 0 ? [] : [{ call: 'AuthorizeSecurityGroupIngress', group: name, rules } as const]),
  ];
}

/** Steps afterwards: revoke rules or delete the group. */
export function stepsAfter(
  desired: DesiredSecurityGroup | undefined,
  found: FoundSecurityGroup | undefined,
): readonly SecurityGroupStep[] {
  if (found === undefined) return [];
  if (desired === undefined) return [{ call: 'DeleteSecurityGroup', id: found.id }];
  const rules = rulesWithout(found.rules, desired.rules);
  return rules.length === 0 ? [] : [{ call: 'RevokeSecurityGroupIngress', group: found.name, rules }];
}

function rulesWithout(all: readonly Rule[], some: readonly Rule[]): readonly Rule[] {
  const texts = new Set(some.map(textOf));
  return all.filter((rule) => !texts.has(textOf(rule)));
}

const textOf = ({ protocol, from, to, source }: Rule): string => `${protocol} ${from}-${to} ${source}`;
