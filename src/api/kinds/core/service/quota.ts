import type { Service } from './schema.ts';
import { wholeQuantity } from '../../../quantity.ts';
import type { QuotaEvaluator } from '../../../quota.ts';

const names = new Set(['count/services', 'services', 'services.nodeports', 'services.loadbalancers']);

/** Counts the node ports that a Service requests: they are allocated after the quota is charged. */
export const serviceQuota: QuotaEvaluator<Service> = {
  counts: (name) => names.has(name),
  checksUpdates: true,
  usage({ spec }) {
    const one = wholeQuantity(1);
    return new Map([
      ['count/services', one],
      ['services', one],
      ['services.nodeports', wholeQuantity(nodePorts(spec))],
      ['services.loadbalancers', wholeQuantity(spec.type === 'LoadBalancer' ? 1 : 0)],
    ]);
  },
};

function nodePorts({ type, ports = [], allocateLoadBalancerNodePorts }: Service['spec']): number {
  if (type === 'NodePort') return ports.length;
  if (type !== 'LoadBalancer') return 0;
  if (allocateLoadBalancerNodePorts !== false) return ports.length;
  return ports.filter(({ nodePort = 0 }) => nodePort !== 0).length;
}
