import type { Protocol, Service } from '../../api/kinds/core/service/schema.ts';
import { endpointText, unhealthyEndpoints } from '../../api/kinds/core/service/facts.ts';
import type { Candidate } from './candidates.ts';

/**
 * The endpoints that traffic of a load balancer goes to: all but those that it found not to answer. Where that leaves
 * nobody who is ready all are used, as clouds do: a check that fails everywhere says more about the check.
 */
export function healthyAmong(
  candidates: readonly Candidate[],
  service: Service,
  protocol: Protocol,
): readonly Candidate[] {
  const unhealthy = unhealthyEndpoints(service);
  if (unhealthy.size === 0) return candidates;
  const healthy = candidates.filter(({ address, port }) => !unhealthy.has(endpointText(address, port, protocol)));
  return healthy.length < candidates.length && healthy.some(({ ready }) => ready) ? healthy : candidates;
}

/** What a load balancer's checks of an endpoint come to, in words; undefined: they found nothing. */
export function healthNote(of: {
  readonly candidate: Candidate;
  /** All of the port. */
  readonly among: readonly Candidate[];
  readonly service: Service;
  readonly protocol: Protocol;
}): string | undefined {
  const { candidate, among, service, protocol } = of;
  const { address, port } = candidate;
  if (!unhealthyEndpoints(service).has(endpointText(address, port, protocol))) return undefined;
  const isLeftOut = !healthyAmong(among, service, protocol).includes(candidate);
  return `it does not answer the load balancer${isLeftOut ? '' : ', and nobody ready does'}`;
}
