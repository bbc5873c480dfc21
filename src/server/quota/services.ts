import type { Service } from '../../api/kinds/core/service/schema.ts';
import { wholeQuantity } from '../../api/quantity.ts';
import type { Evaluator } from './evaluator.ts';

const names = new Set(['count/services', 'services', 'services.nodeports', 'services.loadbalancers']);

/** Node ports are counted as they are asked for: a Service that is new has none yet. */
export const serviceEvaluator: Evaluator = {
  counts: (name) => names.has(name),
  checksUpdates: true,
  usage(object) {
    const { spec } = object as Service; // an evaluator is given objects of its kind
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
