import type { Service } from '../../api/kinds/core/service/schema.ts';
import { annotation, namedPorts } from './annotations.ts';
import type { Product } from './product.ts';
import { inBothEras } from './product.ts';
import type { Cloud, Request } from './cloud.ts';
import type { Fault } from './fault.ts';
import { fault } from './fault.ts';
import { sourceRangeRules, backends, backendGroups, resource, unitResource } from './units.ts';

const base = { unit: 'listener', addressing: 'hostname', ipMode: 'Proxy' } as const;
const type = 'service.beta.kubernetes.io/aws-load-balancer-type';
const nlb = {
  ...base,
  title: 'NLB',
  l4: ['TCP', 'UDP'],
  l7: ['TLS'],
  form: 'separate',
  maxUnits: 50,
} as const;

/** Makes the AWS load balancer controller create one listener for TCP and UDP on the same port. */
export const tcpUdpListener = 'service.beta.kubernetes.io/aws-load-balancer-enable-tcp-udp-listener';

/** LB-12: ELB supports only TCP. The cloud controller supported mixed NLBs in 2020; now another controller does. */
const products: readonly Product[] = [
  ...inBothEras({
    ...base,
    name: 'clb',
    title: 'ELB',
    askedBy: 'the default',
    l4: ['TCP'],
    l7: ['TLS', 'HTTP', 'HTTPS'],
    mixed: 'none',
    form: 'separate',
    maxUnits: 100,
  }),
  { ...nlb, name: 'nlb', era: '2020-07', askedBy: `${type}: nlb`, mixed: 'distinctPorts' },
  { ...nlb, name: 'nlb', era: 'today', askedBy: `${type}: nlb`, mixed: 'none' },
  {
    ...nlb,
    name: 'nlb-lbc',
    era: 'today',
    title: 'NLB (load balancer controller)',
    askedBy: `${type}: external, or loadBalancerClass: service.k8s.aws/nlb`,
    l7: ['TLS', 'QUIC'],
    mixed: 'samePort',
    form: 'merged',
    samePortOptIn: tcpUdpListener,
  },
];

const prefix = 'service.beta.kubernetes.io/aws-load-balancer';
const nlbClass = 'service.k8s.aws/nlb';

/** AWS: ELB, NLB of the cloud controller, and NLB of the AWS load balancer controller. */
export const aws: Cloud = {
  name: 'aws',
  title: 'AWS',
  products,
  classes: [nlbClass],
  choose(service, era) {
    const type = annotation(service, `${prefix}-type`);
    const isOther = type === 'external' || type === 'nlb-ip' || service.spec.loadBalancerClass === nlbClass;
    if (isOther && era === 'today') return 'nlb-lbc';
    return type === 'nlb' || isOther ? 'nlb' : 'clb';
  },
  isInternal(service) {
    const internal = annotation(service, `${prefix}-internal`);
    return annotation(service, `${prefix}-scheme`) === 'internal' || (internal !== '' && internal !== 'false');
  },
  l7: protocols,
  check,
  resources(request, units) {
    const { product, isInternal, l7 } = request;
    const scheme = isInternal ? 'internal' : 'internet-facing';
    const isClassic = product.name === 'clb';
    const target = annotation(request.service, `${prefix}-nlb-target-type`) || 'instance';
    return [
      resource('SecurityGroup', 'group'),
      resource(isClassic ? 'ClassicLoadBalancer' : 'NetworkLoadBalancer', 'instance', { scheme }),
      ...(isClassic
        ? []
        : backendGroups('TargetGroup', units).map((group) => ({ ...group, settings: { ...group.settings, target } }))),
      backends(request),
      ...units.map((unit) => {
        const own = unit.id.slice(0, unit.id.indexOf(':'));
        return unitResource('Listener', unit, { protocol: l7.get(unit.ports[0]?.port ?? 0) ?? own });
      }),
      ...sourceRangeRules('SecurityGroupRule', request),
    ];
  },
};

/** A certificate selects TLS, or HTTPS for HTTP backends, for all ports or the listed ones. */
function protocols(service: Service): ReadonlyMap<number, string> {
  const backend = annotation(service, `${prefix}-backend-protocol`).toUpperCase();
  const hasCertificate = annotation(service, `${prefix}-ssl-cert`) !== '';
  const speaksHttp = backend === 'HTTP' || backend === 'HTTPS';
  const { ports = [] } = service.spec;
  const sslPorts = namedPorts(service, `${prefix}-ssl-ports`);
  return new Map(
    ports.flatMap(({ port }) => {
      const isSecure = hasCertificate && (sslPorts.length === 0 || sslPorts.includes(port));
      if (isSecure) return [[port, speaksHttp ? 'HTTPS' : 'TLS']];
      return speaksHttp ? [[port, 'HTTP']] : [];
    }),
  );
}

function check({ service, product, ports, l7 }: Request): Fault | undefined {
  const { sessionAffinity = 'None', loadBalancerIP = '' } = service.spec;
  if (product.name === 'nlb-lbc') {
    const merged = ports.find(
      ({ port }) => l7.has(port) && ports.some((other) => other.port === port && other.protocol === 'UDP'),
    );
    if (merged === undefined) return undefined;
    const message = `port ${merged.port} is one listener for TCP and UDP, which cannot terminate TLS`;
    return fault('fairlead.dev/UnsupportedTls', message);
  }
  if (sessionAffinity !== 'None') {
    return fault(
      'fairlead.dev/UnsupportedAffinity',
      `AWS ${product.title} does not support session affinity by client address`,
    );
  }
  if (loadBalancerIP === '') return undefined;
  const message = `AWS ${product.title} has a host name and no fixed address: remove spec.loadBalancerIP`;
  return fault('fairlead.dev/UnsupportedLoadBalancerIP', message);
}
