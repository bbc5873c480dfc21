import type { Protocol } from '../../../api/kinds/core/service/schema.ts';
import type { OpenPort, Resource } from '../../clouds/resource.ts';
import type { TargetType } from './targets.ts';

/** Protocols that listeners and target groups of network load balancers have. */
export type ElbProtocol = 'TCP' | 'UDP' | 'TCP_UDP' | 'TLS';

const served: Readonly<Record<ElbProtocol, readonly Protocol[]>> = {
  TCP: ['TCP'],
  TLS: ['TCP'],
  UDP: ['UDP'],
  TCP_UDP: ['TCP', 'UDP'],
};

/** The protocols of ports that a listener serves. */
export const protocolsOf = (protocol: string): readonly Protocol[] =>
  protocol in served ? served[protocol as ElbProtocol] : []; // A cast that `in` has checked.

/** A load balancer that is there. */
export interface FoundBalancer {
  readonly arn: string;
  readonly name: string;
  readonly hostname: string;
  readonly scheme: string;
  readonly vpc: string;
  readonly addressType: string;
  readonly subnets: readonly string[];
  readonly elasticAddresses: readonly string[];
  readonly securityGroups: readonly string[];
  readonly state: string;
  /** Why it is in that state, where AWS says so. */
  readonly reason: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly attributes: Readonly<Record<string, string>>;
}

/** How AWS says that targets are checked. */
export interface FoundHealth {
  readonly protocol: string;
  readonly port: string;
  readonly path: string;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  readonly healthyThreshold: number;
  readonly unhealthyThreshold: number;
}

export interface FoundGroup {
  readonly arn: string;
  readonly name: string;
  readonly targetType: TargetType;
  readonly protocol: string;
  readonly port: number;
  readonly health: FoundHealth;
  readonly tags: Readonly<Record<string, string>>;
  readonly attributes: Readonly<Record<string, string>>;
  /** Those that traffic is sent to; those that are on their way out are not. */
  readonly targets: readonly string[];
}

export interface FoundListener {
  readonly arn: string;
  readonly port: number;
  readonly protocol: string;
  /** The ARN of the group it sends to. */
  readonly group: string;
  readonly certificate: string;
  readonly tlsPolicy: string;
}

/** Clients of a range may reach ports. */
export interface Rule {
  /** In words of EC2: `tcp`, or `-1` for all. */
  readonly protocol: string;
  readonly from: number;
  readonly to: number;
  /** A CIDR in its canonical form. */
  readonly source: string;
}

export interface FoundSecurityGroup {
  readonly id: string;
  readonly name: string;
  readonly rules: readonly Rule[];
  readonly tags: Readonly<Record<string, string>>;
}

/** What is at AWS for a Service. */
export interface Found {
  /** The one that was made for it; those that were named are the load balancer's. */
  readonly securityGroup?: FoundSecurityGroup;
  readonly balancer?: FoundBalancer;
  readonly groups: readonly FoundGroup[];
  readonly listeners: readonly FoundListener[];
}

/** Nothing. */
export const nothing: Found = { groups: [], listeners: [] };

/** Whether there is anything left of a load balancer. */
export const isNothing = ({ securityGroup, balancer, groups, listeners }: Found): boolean =>
  securityGroup === undefined && balancer === undefined && groups.length === 0 && listeners.length === 0;

/** What is open, as the planner that all clouds share knows it. */
export const asResources = ({ listeners }: Found): readonly Resource[] =>
  listeners.map(({ port, protocol }) => ({
    type: 'Listener',
    id: `${protocol}:${port}`,
    serves: protocolsOf(protocol).map((each): OpenPort => ({ protocol: each, port })),
    settings: {},
  }));
