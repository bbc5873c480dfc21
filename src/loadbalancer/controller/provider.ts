import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { LoadBalancerStatus, Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { PlannedEvent } from '../../client/event-correlator.ts';
import type { Problem } from '../clouds/evaluate.ts';
import type { IngressAddress } from '../clouds/ingress.ts';
import { ingressWith, refusedIngress } from '../clouds/ingress.ts';
import type { Plan } from '../clouds/plan.ts';

/** The result of `ensure`. */
export interface Ensured {
  /** Addresses and port status; no entry if nothing was set up. */
  readonly status: LoadBalancerStatus;
  /** Set if nothing was changed because the Service cannot be served. */
  readonly refusal?: Problem;
  /** Set if only some ports are served, as the best-effort policy of the Service allows. */
  readonly shortfall?: Problem;
  /** Additional Events about the Service. */
  readonly events: readonly PlannedEvent[];
}

/** The backends of a load balancer. */
export interface Backends {
  /** Nodes, reached through node ports. */
  readonly nodes: readonly Node[];
  /** The slices of the Service if its traffic goes to endpoints; otherwise empty. */
  readonly slices: readonly EndpointSlice[];
}

/** The Service that a load balancer was created for. */
export interface ServiceIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * The interface between the service controller and a cloud. Every method is idempotent: it may be called again after a
 * failure or a crash in the middle. The controller never calls methods concurrently for one Service. Objects are
 * read-only.
 */
export interface LoadBalancerProvider {
  readonly name: string;
  /** Served values of loadBalancerClass, in addition to Services without a class. */
  readonly classes: readonly string[];
  /** Traffic does not go through node ports, so changes of nodes are irrelevant. */
  readonly ignoresNodes?: true;
  /** Whether traffic goes directly to endpoints. If the method is missing, slices are not watched. */
  sendsToEndpoints?(service: Service): boolean;
  /** This process checks the backends; a real cloud does that itself. */
  readonly checksHealth?: true;
  /** Called first in every term with all Services; state of an earlier term may be stale. */
  start?(services: readonly Service[], signal: AbortSignal): Promise<void>;
  /** Background work during a term. */
  run?(signal: AbortSignal): Promise<void>;
  /** The load balancer of a Service, even if incomplete; undefined if nothing exists. */
  find(service: Service, signal: AbortSignal): Promise<LoadBalancerStatus | undefined>;
  /** Creates or updates, or refuses. `elsewhere`: another controller does. Rejects with a RetryError while in progress. */
  ensure(service: Service, backends: Backends, signal: AbortSignal): Promise<Ensured | 'elsewhere'>;
  /** Readdresses the backends. */
  updateBackends(service: Service, backends: Backends, signal: AbortSignal): Promise<void>;
  /** Deletes the load balancer; resolves if nothing exists. */
  remove(service: Service, signal: AbortSignal): Promise<void>;
  /** The owners of all load balancers of this cluster, to find orphans. */
  list(signal: AbortSignal): Promise<readonly ServiceIdentity[]>;
}

/** The operation is in progress or throttled: retry after exactly `afterMs`. Identified by `code`. */
export class RetryError extends Error {
  readonly code = 'RETRY';
  readonly afterMs: number;
  /** Events to record now. */
  readonly events: readonly PlannedEvent[];

  constructor(message: string, afterMs: number, events: readonly PlannedEvent[] = []) {
    super(message);
    this.afterMs = afterMs;
    this.events = events;
  }
}

/** The result of an executed or refused plan for a load balancer with these addresses. */
export function ensureResult(
  addresses: readonly IngressAddress[],
  { refusal, shortfall, ports, events }: Pick<Plan, 'refusal' | 'shortfall' | 'ports' | 'events'>,
): Ensured {
  if (refusal !== undefined)
    return { status: { ingress: refusedIngress(addresses, ports, refusal.message) }, refusal, events };
  const ingress = addresses.map((address) => ingressWith(address, ports, shortfall?.message));
  return { status: { ingress }, ...(shortfall === undefined ? {} : { shortfall }), events };
}
