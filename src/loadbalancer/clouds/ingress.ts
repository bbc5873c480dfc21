// Ingress entries of the Service status with the status of each port (LB-3).
import type { LoadBalancerIngress } from '../../api/kinds/core/service/schema.ts';
import type { PortOutcome } from './ports.ts';

/** The address of a load balancer; empty: none. */
export type IngressAddress = Pick<LoadBalancerIngress, 'ip' | 'hostname' | 'ipMode'>;

/** An ingress entry with the port status in the current form and in that of the first proposal of KEP-1435. */
export function ingressWith(
  address: IngressAddress,
  ports: readonly PortOutcome[],
  message?: string,
): LoadBalancerIngress {
  return {
    ...address,
    ports: ports.map(({ port, protocol, fault: why }) => ({
      port,
      protocol,
      ...(why === undefined ? {} : { error: why.code }),
    })),
    portStatuses: ports.map(({ port, protocol, fault: why }) => ({
      port,
      protocol,
      ready: why === undefined,
      ...(why === undefined ? {} : { message: why.message }),
    })),
    ...(message === undefined ? {} : { message }),
  };
}

/**
 * The ingress entries of a refused Service: the existing ones, or one without an address, so that every port has a status.
 * Kubernetes accepts entries without an address, and proxies ignore them.
 */
export function refusedIngress(
  addresses: readonly IngressAddress[],
  ports: readonly PortOutcome[],
  message: string,
): readonly LoadBalancerIngress[] {
  return (addresses.length === 0 ? [{}] : addresses).map((address) => ingressWith(address, ports, message));
}

/** Whether an entry has an address or host name. */
export const hasAddress = ({ ip = '', hostname = '' }: LoadBalancerIngress): boolean => ip !== '' || hostname !== '';
