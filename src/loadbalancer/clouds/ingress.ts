// What the status of a Service says of its ports (LB-3).
import type { LoadBalancerIngress } from '../../api/kinds/core/service/schema.ts';
import type { PortOutcome } from './ports.ts';

/** Where a load balancer is reached; empty: nowhere. */
export type IngressAddress = Pick<LoadBalancerIngress, 'ip' | 'hostname' | 'ipMode'>;

/** An entry of the status with what became of each port, in today's shape and in that of KEP-1435's first text. */
export function ingressWith(
  place: IngressAddress,
  ports: readonly PortOutcome[],
  message?: string,
): LoadBalancerIngress {
  return {
    ...place,
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
 * The entries of a Service that was refused: those it had, or one without an address where it had none, so that every
 * port has its status all the same. Kubernetes' validation asks for neither address nor host name, and proxies pass
 * over an entry that has none.
 */
export function refusedIngress(
  places: readonly IngressAddress[],
  ports: readonly PortOutcome[],
  message: string,
): readonly LoadBalancerIngress[] {
  return (places.length === 0 ? [{}] : places).map((place) => ingressWith(place, ports, message));
}

/** Whether an entry says where a load balancer is reached, not only why it is not. */
export const hasAddress = ({ ip = '', hostname = '' }: LoadBalancerIngress): boolean => ip !== '' || hostname !== '';
