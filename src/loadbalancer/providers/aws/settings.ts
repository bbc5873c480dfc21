// Settings of a network load balancer from the annotations of the AWS controllers.
import type { Service } from '../../../api/kinds/core/service/schema.ts';
import { annotation, isTrue, listed } from '../../clouds/annotations.ts';
import type { TargetType } from './targets.ts';

/** Health check of targets; AWS chooses missing fields. */
export interface HealthCheck {
  readonly protocol: 'TCP' | 'HTTP' | 'HTTPS';
  /** A number, or `traffic-port` for the port of the target. */
  readonly port: string;
  readonly path?: string;
  readonly intervalSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly healthyThreshold?: number;
  readonly unhealthyThreshold?: number;
}

/** Parsed annotations; empty values if an annotation is missing. */
export interface Settings {
  readonly subnets: readonly string[];
  readonly elasticAddresses: readonly string[];
  readonly securityGroups: readonly string[];
  readonly isDualStack: boolean;
  readonly tags: Readonly<Record<string, string>>;
  readonly balancerAttributes: Readonly<Record<string, string>>;
  readonly groupAttributes: Readonly<Record<string, string>>;
  readonly certificates: readonly string[];
  readonly tlsPolicy: string;
  /** Whether connections to targets use TLS. */
  readonly hasTlsTargets: boolean;
  readonly targetType: TargetType;
  /** Labels of nodes that receive traffic. */
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly health: Partial<HealthCheck>;
}

const prefix = 'service.beta.kubernetes.io/aws-load-balancer-';

/** The supported annotations, without their prefix. */
export const knownAnnotations = [
  'type',
  'internal',
  'scheme',
  'subnets',
  'eip-allocations',
  'security-groups',
  'ip-address-type',
  'nlb-target-type',
  'target-node-labels',
  'enable-tcp-udp-listener',
  'cross-zone-load-balancing-enabled',
  'attributes',
  'target-group-attributes',
  'proxy-protocol',
  'additional-resource-tags',
  'ssl-cert',
  'ssl-ports',
  'ssl-negotiation-policy',
  'backend-protocol',
  'healthcheck-protocol',
  'healthcheck-port',
  'healthcheck-path',
  'healthcheck-interval',
  'healthcheck-timeout',
  'healthcheck-healthy-threshold',
  'healthcheck-unhealthy-threshold',
] as const;

type Word = (typeof knownAnnotations)[number];

const key = (word: Word): string => `${prefix}${word}`;

/** Parses the annotations; see `annotationProblem` for validation. */
export function settingsOf(service: Service): Settings {
  const isProxied = annotation(service, key('proxy-protocol')) === '*';
  const isCrossZone = isTrue(service, key('cross-zone-load-balancing-enabled'));
  return {
    subnets: listed(service, key('subnets')),
    elasticAddresses: listed(service, key('eip-allocations')),
    securityGroups: listed(service, key('security-groups')),
    isDualStack: annotation(service, key('ip-address-type')) === 'dualstack',
    tags: pairs(service, 'additional-resource-tags'),
    // Always set, so that removing an annotation disables the feature.
    balancerAttributes: {
      'load_balancing.cross_zone.enabled': String(isCrossZone),
      ...pairs(service, 'attributes'),
    },
    groupAttributes: {
      'proxy_protocol_v2.enabled': String(isProxied),
      ...pairs(service, 'target-group-attributes'),
    },
    certificates: listed(service, key('ssl-cert')),
    tlsPolicy: annotation(service, key('ssl-negotiation-policy')),
    hasTlsTargets: ['ssl', 'tls'].includes(annotation(service, key('backend-protocol')).toLowerCase()),
    targetType: annotation(service, key('nlb-target-type')) === 'ip' ? 'ip' : 'instance',
    nodeLabels: pairs(service, 'target-node-labels'),
    health: healthOf(service),
  };
}

function healthOf(service: Service): Partial<HealthCheck> {
  const protocol = annotation(service, key('healthcheck-protocol')).toUpperCase();
  const port = annotation(service, key('healthcheck-port'));
  const path = annotation(service, key('healthcheck-path'));
  const number = (word: Word, field: keyof HealthCheck): Partial<HealthCheck> => {
    const text = annotation(service, key(word));
    return text === '' ? {} : { [field]: Number(text) };
  };
  return {
    ...(isHealthProtocol(protocol) ? { protocol } : {}),
    ...(port === '' ? {} : { port }),
    ...(path === '' ? {} : { path }),
    ...number('healthcheck-interval', 'intervalSeconds'),
    ...number('healthcheck-timeout', 'timeoutSeconds'),
    ...number('healthcheck-healthy-threshold', 'healthyThreshold'),
    ...number('healthcheck-unhealthy-threshold', 'unhealthyThreshold'),
  };
}

const isHealthProtocol = (text: string): text is HealthCheck['protocol'] => ['TCP', 'HTTP', 'HTTPS'].includes(text);

/** `a=1,b=2`. */
const pairs = (service: Service, word: Word): Readonly<Record<string, string>> =>
  Object.fromEntries(
    listed(service, key(word)).map((item) => {
      const at = item.indexOf('=');
      return at < 0 ? [item, ''] : [item.slice(0, at).trim(), item.slice(at + 1).trim()];
    }),
  );

/** Validation of values; other annotations accept any value. */
const shapes: Partial<Record<Word, { readonly pattern: RegExp; readonly expected: string }>> = {
  type: { pattern: /^(nlb|external)$/, expected: 'nlb or external' },
  scheme: { pattern: /^(internal|internet-facing)$/, expected: 'internal or internet-facing' },
  subnets: { pattern: /^(\s*subnet-[0-9a-z]+\s*(,|$))+$/, expected: 'IDs such as subnet-0a1b, separated by commas' },
  'eip-allocations': { pattern: /^(\s*eipalloc-[0-9a-z]+\s*(,|$))+$/, expected: 'IDs such as eipalloc-0a1b' },
  'security-groups': { pattern: /^(\s*sg-[0-9a-z]+\s*(,|$))+$/, expected: 'IDs such as sg-0a1b' },
  'ip-address-type': { pattern: /^(ipv4|dualstack)$/, expected: 'ipv4 or dualstack' },
  'nlb-target-type': { pattern: /^(instance|ip)$/, expected: 'instance or ip' },
  'proxy-protocol': { pattern: /^\*$/, expected: '"*" for all ports' },
  'ssl-cert': { pattern: /^arn:[^,]+$/, expected: 'the ARN of one certificate' },
  'healthcheck-protocol': { pattern: /^(tcp|http|https)$/i, expected: 'tcp, http or https' },
  'healthcheck-port': { pattern: /^(traffic-port|\d{1,5})$/, expected: 'a port or traffic-port' },
  'healthcheck-interval': { pattern: /^\d+$/, expected: 'a number of seconds' },
  'healthcheck-timeout': { pattern: /^\d+$/, expected: 'a number of seconds' },
  'healthcheck-healthy-threshold': { pattern: /^\d+$/, expected: 'a number' },
  'healthcheck-unhealthy-threshold': { pattern: /^\d+$/, expected: 'a number' },
};

/** The first invalid annotation. */
export function annotationProblem(service: Service): string | undefined {
  for (const word of knownAnnotations) {
    const [value, shape] = [annotation(service, key(word)), shapes[word]];
    if (value !== '' && shape !== undefined && !shape.pattern.test(value))
      return `annotation ${key(word)} is ${JSON.stringify(value)}: expected ${shape.expected}`;
  }
  return undefined;
}

/** AWS annotations that are not supported. */
export const unknownAnnotations = ({ metadata }: Service): readonly string[] =>
  Object.keys(metadata.annotations ?? {}).filter(
    (name) => name.startsWith(prefix) && !knownAnnotations.some((word) => key(word) === name),
  );
