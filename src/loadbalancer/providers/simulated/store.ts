import type { CloudLoadBalancer } from '../../../api/kinds/loadbalancer/cloudloadbalancer/kind.ts';
import { cloudLoadBalancerKind } from '../../../api/kinds/loadbalancer/cloudloadbalancer/kind.ts';
import type { Client } from '../../../client/client.ts';

/** Where a simulated cloud keeps what it has. */
export interface CloudStore {
  list(signal: AbortSignal): Promise<readonly CloudLoadBalancer[]>;
  find(name: string, signal: AbortSignal): Promise<CloudLoadBalancer | undefined>;
  /** Creates it, or replaces the revision that it carries. */
  put(object: CloudLoadBalancer, signal: AbortSignal): Promise<CloudLoadBalancer>;
  delete(name: string, signal: AbortSignal): Promise<void>;
}

/** Keeps it as CloudLoadBalancers of a cluster: `kubectl get cloudloadbalancers`. */
export const storeIn = (client: Client): CloudStore => ({
  list: async (signal) => (await client.list(cloudLoadBalancerKind, { signal })).items,
  find: (name, signal) => client.find(cloudLoadBalancerKind, { name }, { signal }),
  put: (object, signal) =>
    object.metadata.resourceVersion === undefined
      ? client.create(cloudLoadBalancerKind, object, { signal })
      : client.update(cloudLoadBalancerKind, object, { signal }),
  delete: (name, signal) => client.delete(cloudLoadBalancerKind, { name }, { signal }),
});
