import { annotation, isTrue } from './annotations.ts';
import type { Product } from './product.ts';
import type { Cloud } from './cloud.ts';
import { fault } from './fault.ts';
import { sourceRangeRules, backends, backendGroups, resource, unitResource } from './units.ts';

const base = {
  form: 'separate',
  unit: 'listener',
  addressing: 'ip',
  ipMode: 'Proxy',
  title: 'Octavia',
  l7: ['HTTP', 'TERMINATED_HTTPS'],
} as const;

/** LB-18: one listener per protocol and port; several protocols on one port only since Octavia 5.0.0. */
const products: readonly Product[] = [
  {
    ...base,
    name: 'octavia-4',
    era: '2020-07',
    title: 'Octavia before 5.0.0',
    askedBy: 'the version of the cloud',
    l4: ['TCP', 'UDP'],
    mixed: 'distinctPorts',
  },
  { ...base, name: 'octavia', era: '2020-07', askedBy: 'the default', l4: ['TCP', 'UDP'], mixed: 'samePort' },
  {
    ...base,
    name: 'octavia',
    era: 'today',
    askedBy: 'the default',
    l4: ['TCP', 'UDP', 'SCTP'],
    mixed: 'samePort',
    unverified: 'SCTP depends on the driver',
  },
  {
    ...base,
    name: 'ovn',
    era: 'today',
    title: 'Octavia with OVN',
    askedBy: 'lb-provider of the cluster',
    l4: ['TCP', 'UDP', 'SCTP'],
    l7: [],
    mixed: 'samePort',
    ipMode: 'VIP',
  },
];

const prefix = 'loadbalancer.openstack.org';
const certificate = `${prefix}/default-tls-container-ref`;

/** OpenStack: the price depends on the operator. */
export const openstack: Cloud = {
  name: 'openstack',
  title: 'OpenStack',
  products,
  choose: () => 'octavia',
  isInternal: (service) => isTrue(service, 'service.beta.kubernetes.io/openstack-internal-load-balancer'),
  l7(service) {
    if (annotation(service, certificate) === '') return new Map();
    return new Map((service.spec.ports ?? []).map(({ port }) => [port, 'TERMINATED_HTTPS']));
  },
  // The certificate applies to all listeners of the Service, including UDP.
  check: ({ l7, ports }) =>
    l7.size > 0 && ports.some(({ protocol }) => protocol !== 'TCP')
      ? fault(
          'fairlead.dev/UnsupportedTls',
          `annotation ${certificate} applies to all listeners, but only TCP listeners can terminate TLS`,
        )
      : undefined,
  resources: (request, units) => [
    resource('LoadBalancer', 'instance', {
      class: annotation(request.service, `${prefix}/class`) || 'default',
      flavor: annotation(request.service, `${prefix}/flavor-id`) || 'default',
    }),
    ...units.map((unit) => unitResource('Listener', unit, listenerSettings(request.l7.get(unit.ports[0]?.port ?? 0)))),
    ...backendGroups('Pool', units),
    ...units.map(({ id, ports }) =>
      resource('HealthMonitor', id, {
        type: ports[0]?.protocol === 'UDP' ? 'UDP-CONNECT' : (ports[0]?.protocol ?? 'TCP'),
      }),
    ),
    backends(request),
    ...sourceRangeRules('SecurityGroupRule', request, { always: false }),
    ...(request.isInternal ? [] : [resource('FloatingIP', 'address')]),
  ],
};

const listenerSettings = (protocol: string | undefined): Readonly<Record<string, string>> =>
  protocol === undefined ? {} : { protocol };
