import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { LoadBalancerStatus, Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { PlannedEvent } from '../../client/event-correlator.ts';
import type { Problem } from '../clouds/evaluate.ts';
import type { IngressAddress } from '../clouds/ingress.ts';
import { ingressWith, refusedIngress } from '../clouds/ingress.ts';
import type { Plan } from '../clouds/plan.ts';

/** What came of a request for a load balancer. */
export interface Ensured {
  /** Where it is reached, port by port; no entry where nothing was set up. */
  readonly status: LoadBalancerStatus;
  /** Present: it was not set up, and what existed is as it was. */
  readonly refusal?: Problem;
  /** Present: it was set up, as the Service asked, without the ports that the status says are not served. */
  readonly shortfall?: Problem;
  /** What to tell about the Service beside what the controller tells. */
  readonly events: readonly PlannedEvent[];
}

/** Where a load balancer can send traffic to. */
export interface Backends {
  /** By their node ports. */
  readonly nodes: readonly Node[];
  /** Those of the Service, if its traffic goes to endpoints; otherwise none. */
  readonly slices: readonly EndpointSlice[];
}

/** A load balancer that was found, and the Service it was made for. */
export interface ServiceIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * What the service controller asks of a cloud, in Kubernetes' terms. A real SDK adapter implements this and nothing
 * else. Every call can be made again after a failure or a crash in its middle, and is never made twice at once for one
 * Service. Services and Nodes are read-only.
 */
export interface LoadBalancerProvider {
  readonly name: string;
  /** Values of loadBalancerClass that it serves, beside Services of no class. */
  readonly classes: readonly string[];
  /** Traffic does not go through node ports, so that it does not matter which nodes there are. */
  readonly ignoresNodes?: true;
  /** Whether traffic of a Service goes to its endpoints, not through nodes. Left out: never, and slices are not followed. */
  sendsToEndpoints?(service: Service): boolean;
  /** Its backends are for this process to check; a real cloud checks its own. */
  readonly checksHealth?: true;
  /** Called before anything else whenever it begins to act, with all Services there are; what it knew before may be old. */
  start?(services: readonly Service[], signal: AbortSignal): Promise<void>;
  /** What goes on beside the calls for as long as it acts. */
  run?(signal: AbortSignal): Promise<void>;
  /** The load balancer of a Service, whole or in part; undefined: there is nothing left of it. */
  find(service: Service, signal: AbortSignal): Promise<LoadBalancerStatus | undefined>;
  /** Makes it so, or refuses. `elsewhere`: another controller does. Rejects with a RetryError while it is under way. */
  ensure(service: Service, backends: Backends, signal: AbortSignal): Promise<Ensured | 'elsewhere'>;
  /** Sends traffic to these from now on. */
  updateBackends(service: Service, backends: Backends, signal: AbortSignal): Promise<void>;
  /** Resolves when nothing is left of it, also when nothing was there. */
  remove(service: Service, signal: AbortSignal): Promise<void>;
  /** The Services that load balancers of this cluster were made for, to find those whose Service is gone. */
  list(signal: AbortSignal): Promise<readonly ServiceIdentity[]>;
}

/** The cloud is at work: ask again after exactly this long. Told apart by `code`. */
export class RetryError extends Error {
  readonly code = 'RETRY';
  readonly afterMs: number;
  /** What to tell about the Service already. */
  readonly events: readonly PlannedEvent[];

  constructor(message: string, afterMs: number, events: readonly PlannedEvent[] = []) {
    super(message);
    this.afterMs = afterMs;
    this.events = events;
  }
}

/** What comes of a plan that was carried out, or is a refusal, for a load balancer that is reached at these places. */
export function ensureResult(
  places: readonly IngressAddress[],
  { refusal, shortfall, ports, events }: Pick<Plan, 'refusal' | 'shortfall' | 'ports' | 'events'>,
): Ensured {
  if (refusal !== undefined)
    return { status: { ingress: refusedIngress(places, ports, refusal.message) }, refusal, events };
  const ingress = places.map((place) => ingressWith(place, ports, shortfall?.message));
  return { status: { ingress }, ...(shortfall === undefined ? {} : { shortfall }), events };
}
