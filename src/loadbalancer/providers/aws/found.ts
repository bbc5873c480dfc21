import type { Protocol } from '../../../api/kinds/core/service/schema.ts';
import type { OpenPort, Resource } from '../../clouds/resource.ts';
import type { TargetType } from './targets.ts';

/** Protocols of listeners and target groups. */
export type ElbProtocol = 'TCP' | 'UDP' | 'TCP_UDP' | 'TLS';

const served: Readonly<Record<ElbProtocol, readonly Protocol[]>> = {
  TCP: ['TCP'],
  TLS: ['TCP'],
  UDP: ['UDP'],
  TCP_UDP: ['TCP', 'UDP'],
};

/** The port protocols that a listener serves. */
export const protocolsOf = (protocol: string): readonly Protocol[] =>
  protocol in served ? served[protocol as ElbProtocol] : []; // checked with `in`

/** An existing load balancer. */
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
  /** The reason of the state, if AWS returns one. */
  readonly reason: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly attributes: Readonly<Record<string, string>>;
}

/** The health check of a target group as AWS returns it. */
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
  /** Registered targets, without draining ones. */
  readonly targets: readonly string[];
}

export interface FoundListener {
  readonly arn: string;
  readonly port: number;
  readonly protocol: string;
  /** ARN of the target group. */
  readonly group: string;
  readonly certificate: string;
  readonly tlsPolicy: string;
}

/** An ingress rule of a security group. */
export interface Rule {
  /** EC2 protocol: `tcp`, or `-1` for all. */
  readonly protocol: string;
  readonly from: number;
  readonly to: number;
  /** A canonical CIDR. */
  readonly source: string;
}

export interface FoundSecurityGroup {
  readonly id: string;
  readonly name: string;
  readonly rules: readonly Rule[];
  readonly tags: Readonly<Record<string, string>>;
}

/** The AWS resources of a Service. */
export interface Found {
  /** The managed security group; named groups are part of the load balancer. */
  readonly securityGroup?: FoundSecurityGroup;
  readonly balancer?: FoundBalancer;
  readonly groups: readonly FoundGroup[];
  readonly listeners: readonly FoundListener[];
}

/** Whether no resource exists. */
export const isNothing = ({ securityGroup, balancer, groups, listeners }: Found): boolean =>
  securityGroup === undefined && balancer === undefined && groups.length === 0 && listeners.length === 0;

/** The open ports as resources for the plan. */
export const asResources = ({ listeners }: Found): readonly Resource[] =>
  listeners.map(({ port, protocol }) => ({
    type: 'Listener',
    id: `${protocol}:${port}`,
    serves: protocolsOf(protocol).map((each): OpenPort => ({ protocol: each, port })),
    settings: {},
  }));
