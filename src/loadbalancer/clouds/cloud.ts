import type { IpFamily, Protocol, Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Era, Product } from './product.ts';
import type { Fault } from './fault.ts';
import type { OpenPort, Resource } from './resource.ts';

/** A port with its protocol filled in. */
export interface Port extends ServicePort {
  readonly protocol: Protocol;
}

/** An account at a cloud, without the load balancer to plan. */
export interface Account {
  /** Billed units of other Services. */
  readonly units: { readonly public: number; readonly internal: number };
  /** Addresses that are reserved or used by others; undefined: not known. */
  readonly addresses?: readonly { readonly address: string; readonly isStatic: boolean }[];
}

/** An account without resources. */
export const emptyAccount: Account = { units: { public: 0, internal: 0 }, addresses: [] };

/** The input of the rules of a cloud. */
export interface Request {
  readonly service: Service;
  readonly product: Product;
  readonly era: Era;
  readonly ports: readonly Port[];
  readonly nodes: readonly Node[];
  readonly families: readonly IpFamily[];
  readonly isInternal: boolean;
  readonly account: Account;
  /** Port number → application protocol by annotation. */
  readonly l7: ReadonlyMap<number, string>;
}

/** A counted object, such as a listener or a forwarding rule, and its ports. */
export interface Unit {
  /** Such as `TCP:53`, `TCP_UDP:53`, `TCP` or `IPv4`. */
  readonly id: string;
  readonly serves: readonly OpenPort[];
  readonly ports: readonly Port[];
}

/** A cloud: its products and additional rules. All functions are pure. */
export interface Cloud {
  readonly name: string;
  readonly title: string;
  readonly products: readonly Product[];
  /** Served values of loadBalancerClass. */
  readonly classes?: readonly string[];
  /** The name of the product that a Service selects. */
  choose(service: Service, era: Era): string;
  isInternal(service: Service): boolean;
  /** Port number → application protocol by annotation. Default: none. */
  l7?(service: Service): ReadonlyMap<number, string>;
  /** Whether it supports a protocol of the product for this Service. Default: yes. */
  supports?(protocol: Protocol, request: Request): boolean;
  /** Whether this Service may have several protocols although the gate is off. Default: no. */
  mixesWithoutGate?(service: Service, era: Era): boolean;
  /** Additional validation of the whole Service. */
  check?(request: Request): Fault | undefined;
  /** The counted units, if they do not follow from the product. */
  units?(request: Request): readonly Unit[] | undefined;
  /** The resources of a load balancer in the order of creation. */
  resources(request: Request, units: readonly Unit[]): readonly Resource[];
  /** Warnings about settings without effect. */
  warnings?(request: Request): readonly string[];
}
