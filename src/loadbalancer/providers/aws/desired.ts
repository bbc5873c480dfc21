// The desired AWS resources of a Service: the plan in terms of ELBv2.
import { protocolOf } from '../../../api/kinds/core/service/facts.ts';
import type { Service } from '../../../api/kinds/core/service/schema.ts';
import type { Backends } from '../../controller/provider.ts';
import type { Plan } from '../../clouds/plan.ts';
import type { Resource } from '../../clouds/resource.ts';
import type { Owner } from './names.ts';
import { balancerName, groupName, tagsFor } from './names.ts';
import type { ElbProtocol } from './found.ts';
import type { DesiredSecurityGroup } from './security-group.ts';
import { securityGroupFor } from './security-group.ts';
import type { HealthCheck, Settings } from './settings.ts';
import type { TargetType } from './targets.ts';
import { endpointTargets, instanceTargets } from './targets.ts';

/** A target group. */
export interface DesiredGroup {
  readonly name: string;
  readonly targetType: TargetType;
  readonly protocol: ElbProtocol;
  /** The node port, or for endpoints, which have their own ports, the port of the Service. */
  readonly port: number;
  readonly health: HealthCheck;
  readonly attributes: Readonly<Record<string, string>>;
  readonly targets: readonly string[];
}

/** A listener; port numbers are unique. */
export interface DesiredListener {
  readonly port: number;
  readonly protocol: ElbProtocol;
  /** The name of the target group. */
  readonly group: string;
  readonly certificate?: string;
  readonly tlsPolicy?: string;
}

/** The desired resources. An empty list of subnets keeps the existing ones. */
export interface Desired {
  readonly name: string;
  readonly scheme: 'internal' | 'internet-facing';
  readonly addressType: 'ipv4' | 'dualstack';
  readonly subnets: readonly string[];
  readonly elasticAddresses: readonly string[];
  /** IDs, or the name of the managed group. */
  readonly securityGroups: readonly string[];
  /** The managed security group, if no groups are named. */
  readonly securityGroup?: DesiredSecurityGroup;
  readonly tags: Readonly<Record<string, string>>;
  readonly attributes: Readonly<Record<string, string>>;
  readonly groups: readonly DesiredGroup[];
  readonly listeners: readonly DesiredListener[];
}

export interface DesiredInput {
  readonly owner: Owner;
  readonly service: Service;
  readonly backends: Backends;
  readonly planned: Plan;
  readonly settings: Settings;
  readonly keepsSecurityGroup: boolean;
}

/** The health endpoint of the proxy on every node (KEP-3836). */
const proxyHealth = { protocol: 'HTTP', port: '10256', path: '/healthz' } as const;

/** Converts a plan. */
export function desiredOf(input: DesiredInput): Desired {
  const { owner, service, planned, settings, keepsSecurityGroup } = input;
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
  };
}

interface PortOfBalancer {
  readonly group: DesiredGroup;
  readonly listener: DesiredListener;
}

function portOf({ owner, service, settings, backends }: DesiredInput, unit: Resource): PortOfBalancer {
  const { protocol: word = '', nodePort = '0' } = unit.settings;
  const [front, isTls] = [elbProtocol(word), word === 'TLS'];
  const protocol = isTls ? (settings.hasTlsTargets ? 'TLS' : 'TCP') : front;
  const { targetType, nodeLabels } = settings;
  const open = unit.serves?.[0] ?? { port: 0, protocol: 'TCP' };
  const hasAffinity = service.spec.sessionAffinity === 'ClientIP';
  const shape = {
    targetType,
    protocol,
    port: targetType === 'ip' ? open.port : Number(nodePort),
    health: { ...defaultHealth(service, protocol, targetType), ...settings.health },
    attributes: {
      'stickiness.enabled': String(hasAffinity),
      ...(hasAffinity ? { 'stickiness.type': 'source_ip' } : {}),
      ...settings.groupAttributes,
    },
    targets:
      targetType === 'ip'
        ? (endpointTargets(service, backends.slices, open) ?? [])
        : instanceTargets(backends.nodes, nodeLabels),
  } as const;
  const name = groupName(owner, shape);
  const [certificate = ''] = settings.certificates;
  return {
    group: { name, ...shape },
    listener: {
      port: open.port,
      protocol: front,
      group: name,
      ...(isTls ? { certificate } : {}),
      ...(isTls && settings.tlsPolicy !== '' ? { tlsPolicy: settings.tlsPolicy } : {}),
    },
  };
}

/** The plan contains no other protocols. */
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
 * AWS checks UDP targets over TCP or HTTP. With externalTrafficPolicy Local, the health check node port reports local
 * endpoints. Otherwise the node port is checked; for UDP that of a TCP port, or the proxy. Endpoints are checked at their
 * own port, or for UDP at a numeric TCP target port.
 */
function defaultHealth({ spec }: Service, protocol: ElbProtocol, targetType: TargetType): HealthCheck {
  const { externalTrafficPolicy, healthCheckNodePort = 0, ports = [] } = spec;
  const pace = { intervalSeconds: 10, healthyThreshold: 3, unhealthyThreshold: 3 };
  const tcp = ports.find((port) => protocolOf(port) === 'TCP');
  if (targetType === 'ip') {
    const number = typeof tcp?.targetPort === 'string' ? undefined : (tcp?.targetPort ?? tcp?.port);
    const port = protocol !== 'UDP' || number === undefined ? 'traffic-port' : String(number);
    return { protocol: 'TCP', port, ...pace };
  }
  if (externalTrafficPolicy === 'Local' && healthCheckNodePort !== 0)
    return { protocol: 'HTTP', port: String(healthCheckNodePort), path: '/healthz', ...pace };
  if (protocol !== 'UDP') return { protocol: 'TCP', port: 'traffic-port', ...pace };
  const other = tcp?.nodePort ?? 0;
  return other === 0 ? { ...proxyHealth, ...pace } : { protocol: 'TCP', port: String(other), ...pace };
}
