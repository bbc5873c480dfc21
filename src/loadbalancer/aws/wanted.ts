// What is to be at AWS for a Service: the plan that all clouds share, in the terms of ELBv2.
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Plan } from '../providers/plan.ts';
import type { Resource } from '../providers/resource.ts';
import type { Owner } from './names.ts';
import { balancerName, groupName, tagsFor } from './names.ts';
import type { ElbProtocol } from './protocol.ts';
import type { WantedSecurityGroup } from './security-group.ts';
import { securityGroupFor } from './security-group.ts';
import type { HealthCheck, Settings } from './settings.ts';

/** Nodes behind one listener. */
export interface WantedGroup {
  readonly name: string;
  readonly protocol: ElbProtocol;
  /** Of the nodes. */
  readonly port: number;
  readonly health: HealthCheck;
  readonly attributes: Readonly<Record<string, string>>;
}

/** One port of a load balancer; two of one number cannot be. */
export interface WantedListener {
  readonly port: number;
  readonly protocol: ElbProtocol;
  /** The name of the group it sends to. */
  readonly group: string;
  readonly certificate?: string;
  readonly tlsPolicy?: string;
}

/** Everything that is to be. An empty list of subnets leaves what is. */
export interface Wanted {
  readonly name: string;
  readonly scheme: 'internal' | 'internet-facing';
  readonly addressType: 'ipv4' | 'dualstack';
  readonly subnets: readonly string[];
  readonly elasticAddresses: readonly string[];
  /** IDs, or the name of the one below. */
  readonly securityGroups: readonly string[];
  /** The one that is ours to keep, where none is named. */
  readonly securityGroup?: WantedSecurityGroup;
  readonly tags: Readonly<Record<string, string>>;
  readonly attributes: Readonly<Record<string, string>>;
  readonly groups: readonly WantedGroup[];
  readonly listeners: readonly WantedListener[];
  /** IDs of the instances that are nodes. */
  readonly targets: readonly string[];
}

export interface WantedInput {
  readonly owner: Owner;
  readonly service: Service;
  readonly nodes: readonly Node[];
  readonly planned: Plan;
  readonly settings: Settings;
  readonly keepsSecurityGroup: boolean;
}

/** The port at which every node's proxy tells whether it is well (KEP-3836). */
const proxyHealth = { protocol: 'HTTP', port: '10256', path: '/healthz' } as const;

/** What a plan means at AWS. */
export function wantedOf(input: WantedInput): Wanted {
  const { owner, service, nodes, planned, settings, keepsSecurityGroup } = input;
  const units = planned.resources.filter(({ type }) => type === 'Listener').map((unit) => portOf(input, unit));
  const listeners = units.map(({ listener }) => listener);
  const { isDualStack } = settings;
  const guard = keepsSecurityGroup ? securityGroupFor(owner, service, { listeners, isDualStack }) : undefined;
  return {
    name: balancerName(owner),
    scheme: planned.isInternal ? 'internal' : 'internet-facing',
    addressType: isDualStack ? 'dualstack' : 'ipv4',
    subnets: settings.subnets,
    elasticAddresses: settings.elasticAddresses,
    securityGroups: guard === undefined ? settings.securityGroups : [guard.name],
    ...(guard === undefined ? {} : { securityGroup: guard }),
    tags: { ...settings.tags, ...tagsFor(owner) },
    attributes: settings.balancerAttributes,
    groups: units.map(({ group }) => group),
    listeners,
    targets: nodes
      .filter((node) => hasLabels(node, settings.nodeLabels))
      .flatMap((node) => instanceOf(node) ?? [])
      .toSorted(),
  };
}

interface PortOfBalancer {
  readonly group: WantedGroup;
  readonly listener: WantedListener;
}

function portOf({ owner, service, settings }: WantedInput, unit: Resource): PortOfBalancer {
  const { protocol: word = '', nodePort = '0' } = unit.settings;
  const [front, isTls] = [elbProtocol(word), word === 'TLS'];
  const protocol = isTls ? (settings.hasTlsTargets ? 'TLS' : 'TCP') : front;
  const hasAffinity = service.spec.sessionAffinity === 'ClientIP';
  const shape = {
    protocol,
    port: Number(nodePort),
    health: { ...defaultHealth(service, protocol), ...settings.health },
    attributes: {
      'stickiness.enabled': String(hasAffinity),
      ...(hasAffinity ? { 'stickiness.type': 'source_ip' } : {}),
      ...settings.groupAttributes,
    },
  } as const;
  const name = groupName(owner, shape);
  const [certificate = ''] = settings.certificates;
  return {
    group: { name, ...shape },
    listener: {
      port: unit.serves?.[0]?.port ?? 0,
      protocol: front,
      group: name,
      ...(isTls ? { certificate } : {}),
      ...(isTls && settings.tlsPolicy !== '' ? { tlsPolicy: settings.tlsPolicy } : {}),
    },
  };
}

/** Cannot be another one: the planner lets nothing else through. */
function elbProtocol(word: string): ElbProtocol {
  switch (word) {
    case 'TCP':
    case 'UDP':
    case 'TCP_UDP':
    case 'TLS':
      return word;
    default:
      throw new Error(`bug: a network load balancer was planned with protocol "${word}"`);
  }
}

/**
 * AWS checks over TCP or HTTP, also where it sends UDP. With external policy Local, nodes say whether they have
 * endpoints. Otherwise the node port answers; where only UDP is behind it, another port's, or else the proxy itself.
 */
function defaultHealth({ spec }: Service, protocol: ElbProtocol): HealthCheck {
  const { externalTrafficPolicy, healthCheckNodePort = 0, ports = [] } = spec;
  const pace = { intervalSeconds: 10, healthyThreshold: 3, unhealthyThreshold: 3 };
  if (externalTrafficPolicy === 'Local' && healthCheckNodePort !== 0)
    return { protocol: 'HTTP', port: String(healthCheckNodePort), path: '/healthz', ...pace };
  if (protocol !== 'UDP') return { protocol: 'TCP', port: 'traffic-port', ...pace };
  const other = ports.find((port) => (port.protocol ?? 'TCP') === 'TCP')?.nodePort ?? 0;
  return other === 0 ? { ...proxyHealth, ...pace } : { protocol: 'TCP', port: String(other), ...pace };
}

/** The EC2 instance that a node is: `aws:///eu-central-1a/i-0a1b`. */
export const instanceOf = ({ spec }: Node): string | undefined =>
  /^aws:\/\/\/[^/]*\/(i-[0-9a-f]+)$/.exec(spec.providerID ?? '')?.[1];

const hasLabels = ({ metadata: { labels = {} } }: Node, wanted: Readonly<Record<string, string>>): boolean =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value);
