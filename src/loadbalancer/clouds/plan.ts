// Plans the load balancer of a Service at a cloud, with its cost.
import { protocolOf } from '../../api/kinds/core/service/facts.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { PlannedEvent } from '../../client/event-correlator.ts';
import type { Bill } from './price/bill.ts';
import { billFor } from './price/bill.ts';
import type { PriceBook } from './price/book.ts';
import { priceBook } from './price/book.ts';
import type { Era, Product } from './product.ts';
import type { Account, Cloud, Port, Request, Unit } from './cloud.ts';
import { emptyAccount } from './cloud.ts';
import type { Problem } from './evaluate.ts';
import { evaluate } from './evaluate.ts';
import type { PortOutcome } from './ports.ts';
import { isMixed } from './ports.ts';
import type { Resource, ResourceChanges } from './resource.ts';
import { changesBetween, unitsOf } from './resource.ts';
import { unitsFor } from './units.ts';

/** The input of a plan. */
export interface PlanInput {
  readonly service: Service;
  readonly era: Era;
  /** Whether the gate MixedProtocolLBService is on. The plan does not rely on validation by the API server (LB-8). */
  readonly isMixingAllowed: boolean;
  /** Default: the product that the Service selects. */
  readonly product?: string | undefined;
  readonly nodes?: readonly Node[];
  /** Existing resources of this Service. */
  readonly existing?: readonly Resource[];
  readonly account?: Account;
  readonly prices?: PriceBook | undefined;
}

/** The changes, the status of all ports, Events and the cost. */
export interface Plan {
  readonly cloud: string;
  readonly product: Product;
  readonly isInternal: boolean;
  /** Set if the Service is refused; existing resources do not change. */
  readonly refusal?: Problem;
  /** Set if only some ports are served, with the best-effort policy. */
  readonly shortfall?: Problem;
  /** The resources after the plan is executed, in the order of creation. */
  readonly resources: readonly Resource[];
  readonly changes: ResourceChanges;
  /** One per port of the Service, in its order. */
  readonly ports: readonly PortOutcome[];
  readonly events: readonly PlannedEvent[];
  /** Compared with the existing resources. */
  readonly bill: Bill;
  /** Compared with the same Service with only the protocol of its first port; only for several protocols. */
  readonly mixingBill?: Bill;
  readonly warnings: readonly string[];
}

/** Plans the load balancer of a Service at a cloud. */
export function plan(cloud: Cloud, input: PlanInput): Plan {
  const { existing = [], isMixingAllowed } = input;
  const complete = requestFor(cloud, input);
  const { served, ports, problem } = evaluate(cloud, complete, { isMixingAllowed, existing });
  const request = { ...complete, ports: served };
  const isRefused = problem !== undefined && served.length === 0;
  const units = isRefused ? [] : (cloud.units?.(request) ?? unitsFor(request));
  const resources = isRefused ? existing : cloud.resources(request, units);
  const bill = billOf(cloud, input, { request, before: unitsOf(existing).length, after: unitsOf(resources).length });
  const warnings = isRefused ? [] : (cloud.warnings?.(request) ?? []);
  const mixing = !isRefused && isMixed(served) ? mixingBill(cloud, input, { request, units }) : undefined;
  return {
    cloud: cloud.name,
    product: request.product,
    isInternal: request.isInternal,
    ...(problem === undefined ? {} : isRefused ? { refusal: problem } : { shortfall: problem }),
    resources,
    changes: changesBetween(existing, resources),
    ports,
    events: [...problemEvents(problem), ...eventsOf(bill, warnings)],
    bill,
    ...(mixing === undefined ? {} : { mixingBill: mixing }),
    warnings,
  };
}

/** The products of an era. */
export const productsOf = (cloud: Cloud, era: Era): readonly Product[] =>
  cloud.products.filter((product) => product.era === era);

function requestFor(cloud: Cloud, input: PlanInput): Request {
  const { service, era, nodes = [], account = emptyAccount } = input;
  const name = input.product ?? cloud.choose(service, era);
  const product = productsOf(cloud, era).find((each) => each.name === name);
  if (product === undefined) throw new Error(`${cloud.title} has no product "${name}" (${era})`);
  const { ports = [], ipFamilies = [] } = service.spec;
  return {
    service,
    product,
    era,
    ports: ports.map((port): Port => ({ ...port, protocol: protocolOf(port) })),
    nodes,
    families: ipFamilies.length === 0 ? ['IPv4'] : ipFamilies,
    isInternal: cloud.isInternal(service),
    account,
    l7: cloud.l7?.(service) ?? new Map(),
  };
}

interface BilledUnits {
  readonly request: Request;
  readonly before: number;
  readonly after: number;
}

function billOf(cloud: Cloud, { prices = priceBook }: PlanInput, { request, before, after }: BilledUnits): Bill {
  const { product, era, account, isInternal } = request;
  const price = prices[`${cloud.name}/${product.name}`]?.[era];
  if (price === undefined) throw new Error(`the price book has no "${cloud.name}/${product.name}" of era ${era}`);
  // GCE counts all rules of a project; Azure has one public and one internal load balancer.
  const isProject = price.model.type === 'tiers' && price.model.scope === 'project';
  const { units } = account;
  const others = isProject ? units.public + units.internal : isInternal ? units.internal : units.public;
  return billFor(price, product.unit, { others, before, after });
}

function mixingBill(
  cloud: Cloud,
  input: PlanInput,
  { request, units }: { readonly request: Request; readonly units: readonly Unit[] },
): Bill {
  const protocol = request.ports[0]?.protocol;
  const alone = { ...request, ports: request.ports.filter((port) => port.protocol === protocol) };
  const before = (cloud.units?.(alone) ?? unitsFor(alone)).length;
  return billOf(cloud, input, { request, before, after: units.length });
}

const problemEvents = (problem: Problem | undefined): readonly PlannedEvent[] =>
  problem === undefined ? [] : [{ type: 'Warning', reason: problem.reason, message: problem.message }];

function eventsOf(bill: Bill, warnings: readonly string[]): readonly PlannedEvent[] {
  const events = warnings.map(
    (message) => ({ type: 'Warning', reason: 'LoadBalancerSettingIgnored', message }) as const,
  );
  const { monthlyChange = 0, unit, unitsBefore, unitsAfter, asOf } = bill;
  if (monthlyChange === 0) return events;
  const sign = monthlyChange > 0 ? '+' : '-';
  const message = `${sign}${Math.abs(monthlyChange).toFixed(2)} USD a month: ${unit}s ${unitsBefore} → ${unitsAfter} (prices of ${asOf})`;
  return [...events, { type: 'Normal', reason: 'LoadBalancerCostChange', message }];
}
