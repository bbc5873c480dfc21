import type { LoadBalancerIngress, Protocol } from '../../api/kinds/core/service/schema.ts';

/**
 * Whether a load balancer opened a port at one of its addresses. Status may say so in today's fields or in those that
 * KEP-1435 first proposed; a list without the port means that it is not open, no list at all that nobody knows.
 */
export function isOpen(ingress: LoadBalancerIngress, port: number, protocol: Protocol): boolean {
  const { ports = [], portStatuses = [] } = ingress;
  const isIt = (status: { readonly port: number; readonly protocol: Protocol }): boolean =>
    status.port === port && status.protocol === protocol;
  const today = ports.find(isIt);
  const seed = portStatuses.find(isIt);
  if (ports.length > 0 && (today === undefined || today.error !== undefined)) return false;
  return portStatuses.length === 0 || (seed?.ready ?? false);
}
