import type { LoadBalancerIngress, Protocol } from '../../api/kinds/core/service/schema.ts';

/**
 * Whether a load balancer has opened a port at one of its addresses, by the current fields of the status or those that KEP-1435
 * first proposed. If a list lacks the port, it is not open; without a list it counts as open.
 */
export function isOpen(ingress: LoadBalancerIngress, port: number, protocol: Protocol): boolean {
  const { ports = [], portStatuses = [] } = ingress;
  const isSame = (status: { readonly port: number; readonly protocol: Protocol }): boolean =>
    status.port === port && status.protocol === protocol;
  const current = ports.find(isSame);
  const seed = portStatuses.find(isSame);
  if (ports.length > 0 && (current === undefined || current.error !== undefined)) return false;
  return portStatuses.length === 0 || (seed?.ready ?? false);
}
