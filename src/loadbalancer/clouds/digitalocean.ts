import type { Service } from '../../api/kinds/core/service/schema.ts';
import { annotation, namedPorts } from './annotations.ts';
import type { Product } from './product.ts';
import type { Cloud } from './cloud.ts';
import { sourceRangeRules, backends, resource, unitResource } from './units.ts';

const type = 'service.beta.kubernetes.io/do-loadbalancer-type';
const base = { form: 'separate', unit: 'forwarding rule', needsTcp: true, addressing: 'ip' } as const;
const regional = { ...base, name: 'regional', askedBy: 'the default', ipMode: 'Proxy' } as const;

/** LB-14: only TCP in 2020; UDP today, with at least one TCP port. */
const products: readonly Product[] = [
  {
    ...regional,
    era: '2020-07',
    title: 'load balancer',
    l4: ['TCP'],
    l7: ['HTTP', 'HTTPS', 'HTTP2'],
    mixed: 'none',
  },
  {
    ...regional,
    era: 'today',
    title: 'load balancer',
    l4: ['TCP', 'UDP'],
    l7: ['HTTP', 'HTTPS', 'HTTP2', 'HTTP3'],
    mixed: 'samePort',
  },
  {
    ...base,
    name: 'regional-network',
    era: 'today',
    title: 'network load balancer',
    askedBy: `${type}: REGIONAL_NETWORK`,
    l4: ['TCP', 'UDP'],
    l7: [],
    mixed: 'samePort',
    ipMode: 'VIP',
  },
];

const prefix = 'service.beta.kubernetes.io/do-loadbalancer';

/** DigitalOcean: one load balancer per Service with one TCP health check. */
export const digitalocean: Cloud = {
  name: 'digitalocean',
  title: 'DigitalOcean',
  products,
  choose: (service, era) =>
    era === 'today' && annotation(service, `${prefix}-type`) === 'REGIONAL_NETWORK' ? 'regional-network' : 'regional',
  isInternal: (service) => annotation(service, `${prefix}-network`) === 'INTERNAL',
  l7: protocols,
  resources(request, units) {
    const checked = request.ports.find(({ protocol }) => protocol === 'TCP');
    const network = request.isInternal ? 'INTERNAL' : 'EXTERNAL';
    return [
      resource('LoadBalancer', 'instance', { network, type: request.product.name }),
      backends(request),
      resource('HealthCheck', 'check', {
        port: annotation(request.service, `${prefix}-healthcheck-port`) || String(checked?.port ?? ''),
      }),
      ...units.map((unit) => {
        const port = unit.ports[0];
        return unitResource('ForwardingRule', unit, {
          entry: request.l7.get(port?.port ?? 0) ?? port?.protocol ?? 'TCP',
        });
      }),
      ...sourceRangeRules('Firewall', request, { always: false }),
    ];
  },
};

/** One protocol for all TCP ports, or lists of ports per protocol. */
function protocols(service: Service): ReadonlyMap<number, string> {
  const all = annotation(service, `${prefix}-protocol`).toUpperCase();
  const tcp = (service.spec.ports ?? []).filter(({ protocol = 'TCP' }) => protocol === 'TCP');
  const whole = all === '' || all === 'TCP' ? [] : tcp.map(({ port }) => [port, all] as const);
  const some = (['http', 'http2', 'tls', 'http3'] as const).flatMap((word) =>
    namedPorts(service, `${prefix}-${word === 'http3' ? 'http3-port' : `${word}-ports`}`).map(
      (port) => [port, word === 'tls' ? 'HTTPS' : word.toUpperCase()] as const,
    ),
  );
  return new Map([...whole, ...some]);
}
