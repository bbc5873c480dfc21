import type { Place } from '../clouds/ingress.ts';
import { ingressWith, refusedAt } from '../clouds/ingress.ts';
import type { Plan } from '../clouds/plan.ts';
import type { Ensured } from './provider.ts';

/** What comes of a plan that was carried out, or is a refusal, for a load balancer that is reached at these places. */
export function ensuredAt(
  places: readonly Place[],
  { refusal, shortfall, ports, events }: Pick<Plan, 'refusal' | 'shortfall' | 'ports' | 'events'>,
): Ensured {
  if (refusal !== undefined) return { status: { ingress: refusedAt(places, ports, refusal.message) }, refusal, events };
  const ingress = places.map((place) => ingressWith(place, ports, shortfall?.message));
  return { status: { ingress }, ...(shortfall === undefined ? {} : { shortfall }), events };
}
