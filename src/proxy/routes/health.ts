import type { Protocol, Service } from '../../api/kinds/core/service/schema.ts';
import { endpointText, unhealthyEndpoints } from '../../api/kinds/core/service/facts.ts';
import type { Candidate } from './candidates.ts';

/**
 * The endpoints for traffic of a load balancer: all but those whose health check fails. If no ready endpoint passes, all are used,
 * as clouds do: a check that fails everywhere is probably wrong.
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

/** Describes a failing health check of an endpoint; undefined if it does not fail. */
export function healthNote(of: {
  readonly candidate: Candidate;
  /** All candidates of the port. */
  readonly among: readonly Candidate[];
  readonly service: Service;
  readonly protocol: Protocol;
}): string | undefined {
  const { candidate, among, service, protocol } = of;
  const { address, port } = candidate;
  if (!unhealthyEndpoints(service).has(endpointText(address, port, protocol))) return undefined;
  const isExcluded = !healthyAmong(among, service, protocol).includes(candidate);
  return `failed the health check of the load balancer${isExcluded ? '' : ', as did all other ready endpoints'}`;
}
