import type { IpFamily, Protocol, Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Era, Product } from './product.ts';
import type { Fault } from './fault.ts';
import type { OpenPort, Resource } from './resource.ts';

/** A port with its protocol filled in. */
export interface Port extends ServicePort {
  readonly protocol: Protocol;
}

/** What is known of an account of a cloud beside the load balancer in question. */
export interface Account {
  /** Units that other Services have, where they count towards a price: by whether they are internal. */
  readonly units: { readonly public: number; readonly internal: number };
  /** Addresses that were reserved, or are used by others; left out: not known. */
  readonly addresses?: readonly { readonly address: string; readonly isStatic: boolean }[];
}

/** An account in which nothing is. */
export const emptyAccount: Account = { units: { public: 0, internal: 0 }, addresses: [] };

/** A Service as a cloud's rules see it. */
export interface Request {
  readonly service: Service;
  readonly product: Product;
  readonly era: Era;
  readonly ports: readonly Port[];
  readonly nodes: readonly Node[];
  readonly families: readonly IpFamily[];
  readonly isInternal: boolean;
  readonly account: Account;
  /** Port number → application protocol that annotations ask for. */
  readonly l7: ReadonlyMap<number, string>;
}

/** What is counted for some ports: a listener, a rule, a forwarding rule. */
export interface Unit {
  /** Such as `TCP:53`, `TCP_UDP:53`, `TCP` or `IPv4`. */
  readonly id: string;
  readonly serves: readonly OpenPort[];
  readonly ports: readonly Port[];
}

/** A cloud: its table, and the rules that a table cannot say. Everything in it is pure. */
export interface Cloud {
  readonly name: string;
  readonly title: string;
  readonly products: readonly Product[];
  /** Values of loadBalancerClass that it serves. */
  readonly classes?: readonly string[];
  /** The name of the product that a Service asks for. */
  choose(service: Service, era: Era): string;
  isInternal(service: Service): boolean;
  /** Port number → application protocol, as annotations ask; none if left out. */
  l7?(service: Service): ReadonlyMap<number, string>;
  /** Whether it takes a protocol of the table for this Service after all; yes if left out. */
  supports?(protocol: Protocol, request: Request): boolean;
  /** Whether something but the gate allows this Service to mix; no if left out. */
  mixesWithoutGate?(service: Service, era: Era): boolean;
  /** What its own rules refuse about the whole Service. */
  check?(request: Request): Fault | undefined;
  /** What is counted, where that is not as the table says. */
  units?(request: Request): readonly Unit[] | undefined;
  /** Everything that a load balancer is made of, in the order of its making. */
  resources(request: Request, units: readonly Unit[]): readonly Resource[];
  /** What a person should know although it works. */
  warnings?(request: Request): readonly string[];
}
