// How clouds would implement Services of type LoadBalancer, and the price.
import { messageOf } from '../../api/error-message.ts';
import { protocolOf } from '../../api/kinds/core/service/facts.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { allChoices, priceBook, rowFor, serviceIn } from '../../loadbalancer/inspect.ts';
import type { BalancerPlan } from '../view/details.ts';
import { AnswerError } from './errors.ts';
import { objectsIn } from './manifest.ts';

const era = 'today';
/** Limits the length of the page. */
const maxServices = 50;

/** The plan of one Service at all clouds. */
export function balancerPlan(service: Service): BalancerPlan {
  const { namespace = 'default', name = '' } = service.metadata;
  const options = { era, isMixingAllowed: true, otherUnits: 0, prices: priceBook } as const;
  const rows = allChoices(era).map((choice) => rowFor(service, choice, options));
  return {
    service: `${namespace}/${name}`,
    ports: (service.spec.ports ?? []).map((port) => `${port.port}/${protocolOf(port)}`).join(', '),
    rows: rows.map((row) => ({
      provider: row.provider,
      kind: row.kind,
      isRequested: row.isRequested,
      works: row.works ? 'yes' : row.worksInPart ? 'in part' : 'no',
      resources: row.resources.length,
      monthly: row.works || row.worksInPart ? row.bill.monthlyChange : undefined,
      note: row.note,
    })),
    pricesOf: [...new Set(rows.map(({ bill }) => bill.asOf))].toSorted().join(', '),
  };
}

/** The plans of the LoadBalancer Services of a manifest. Throws an AnswerError if there is none, or one is invalid. */
export function balancerPlans(manifest: string): readonly BalancerPlan[] {
  const services = objectsIn(manifest)
    .filter(({ kind }) => kind === 'Service')
    .slice(0, maxServices);
  const plans = services
    .map((object) => {
      try {
        return serviceIn(object);
      } catch (cause) {
        throw new AnswerError(400, messageOf(cause), { cause });
      }
    })
    .filter(({ spec }) => spec.type === 'LoadBalancer')
    .map(balancerPlan);
  if (plans.length === 0) throw new AnswerError(400, 'the manifest has no Service of type LoadBalancer');
  return plans;
}
