// How clouds would implement a Service, and its cost. Only the command line and the dashboard import this file.
import type { Gates } from '../api/gates.ts';
import { gatesWith } from '../api/gates.ts';
import { serviceKind } from '../api/kinds/core/service/kind.ts';
import type { Service } from '../api/kinds/core/service/schema.ts';
import { decode } from '../api/schema/decode.ts';
import type { Cloud } from './clouds/cloud.ts';
import { clouds } from './clouds/clouds.ts';
import type { Plan } from './clouds/plan.ts';
import { plan, productsOf } from './clouds/plan.ts';
import type { Bill } from './clouds/price/bill.ts';
import type { PriceBook } from './clouds/price/book.ts';
import type { Era, Product } from './clouds/product.ts';

export type { Bill } from './clouds/price/bill.ts';
export type { PriceBook } from './clouds/price/book.ts';
export { priceBook } from './clouds/price/book.ts';
export type { Era } from './clouds/product.ts';
export { eras } from './clouds/product.ts';

/** A kind of load balancer to plan for. */
export interface Choice {
  readonly cloud: Cloud;
  readonly product: Product;
}

/** All kinds of load balancers of an era, by cloud. */
export const allChoices = (era: Era): readonly Choice[] =>
  clouds.flatMap((cloud) => productsOf(cloud, era).map((product) => ({ cloud, product })));

/** The plan of a cloud for a Service. */
export interface Row {
  readonly provider: string;
  readonly kind: string;
  /** The annotations and the class of the Service request this kind, or it is the default. */
  readonly isRequested: boolean;
  readonly askedBy: string;
  /** Every port is served. */
  readonly works: boolean;
  /** Some ports are served, which the Service accepts. */
  readonly worksInPart: boolean;
  /** The reason why not, or warnings. */
  readonly note: string;
  readonly ports: Plan['ports'];
  readonly resources: Plan['resources'];
  readonly bill: Bill;
  readonly mixingBill: Bill | undefined;
}

export interface RowOptions {
  readonly era: Era;
  readonly isMixingAllowed: boolean;
  /** Units of other Services. */
  readonly otherUnits: number;
  readonly prices: PriceBook;
}

/** The row of one Service at one kind of load balancer. */
export function rowFor(
  service: Service,
  { cloud, product }: Choice,
  { era, isMixingAllowed, otherUnits, prices }: RowOptions,
): Row {
  const account = { units: { public: otherUnits, internal: cloud.name === 'azure' ? otherUnits : 0 } };
  const made = plan(cloud, { service, era, product: product.name, isMixingAllowed, account, prices });
  const unverified = product.unverified === undefined ? [] : [`not confirmed: ${product.unverified}`];
  const problem = made.refusal ?? made.shortfall;
  const notes = [...made.warnings, ...unverified, ...(made.bill.note === undefined ? [] : [made.bill.note])];
  return {
    provider: cloud.name,
    kind: product.name,
    isRequested: cloud.choose(service, era) === product.name,
    askedBy: product.askedBy,
    works: problem === undefined,
    worksInPart: made.shortfall !== undefined,
    note: problem === undefined ? notes.join('; ') : withoutPorts(problem.message),
    ports: made.ports,
    resources: made.resources,
    bill: made.bill,
    mixingBill: made.mixingBill,
  };
}

/** The message without its list of ports, for which tables have a column. */
const withoutPorts = (message: string): string =>
  message.endsWith(')') ? (message.split(' (ports: ')[0] ?? '') : message;

/** Whether the cloud would create anything. */
export const isCreated = ({ works, worksInPart }: Pick<Row, 'works' | 'worksInPart'>): boolean => works || worksInPart;

/** A validated Service with its defaults, from a manifest. Throws an Error that names the field at fault. */
export function serviceIn(manifest: unknown): Service {
  const { object, unknown } = decode<Service>(serviceKind.schema, manifest);
  if (unknown.length > 0) throw new Error(unknown.join(', '));
  const service = serviceKind.applyDefaults(object);
  const [problem] = serviceKind.validateCreate(service, { gates: allowing, loopbackEndpoints: [] });
  if (problem === undefined) return service;
  throw new Error(`Service "${service.metadata.name ?? ''}" is invalid: ${problem.path}: ${problem.body}`);
}

/** The plan reports what a gate forbids. */
const allowing: Gates = gatesWith({ MixedProtocolLBService: true });
