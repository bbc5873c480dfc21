// The capabilities and limits of a product of a cloud.
import type { Protocol } from '../../api/kinds/core/service/schema.ts';

/** `2020-07`: the clouds in July 2020, as described in KEP-1435; `today`: the current state. */
export type Era = '2020-07' | 'today';

/** The eras in the order of tables. */
export const eras: readonly Era[] = ['2020-07', 'today'];

/** Support for several protocols on one address. */
export type Mixing = 'none' | 'distinctPorts' | 'samePort';

/**
 * How ports map to counted units: one per port, one for TCP and UDP on the same number, one per protocol, or one for all.
 */
export type UnitForm = 'separate' | 'merged' | 'perProtocol' | 'everything';

/** A product in one era. */
export interface Product {
  readonly name: string;
  readonly era: Era;
  readonly title: string;
  /** How a Service or an administrator selects this product, as text. */
  readonly askedBy: string;
  /** Supported protocols of ports. */
  readonly l4: readonly Protocol[];
  /** Application protocols that annotations can select. */
  readonly l7: readonly string[];
  readonly mixed: Mixing;
  readonly form: UnitForm;
  /** The name of a counted object. */
  readonly unit: string;
  /** The default quota of units per load balancer; undefined: not known. */
  readonly maxUnits?: number;
  /** The annotation that TCP and UDP on the same number require. */
  readonly samePortOptIn?: string;
  /** Health checks require a TCP port. */
  readonly needsTcp?: true;
  /** Targets are always node ports. */
  readonly needsNodePorts?: true;
  readonly addressing: 'ip' | 'hostname';
  readonly ipMode: 'VIP' | 'Proxy';
  /** Capabilities without a confirmed source, as text. */
  readonly unverified?: string;
}

/** A product that is the same in both eras. */
export const inBothEras = (product: Omit<Product, 'era'>): readonly Product[] =>
  eras.map((era) => ({ ...product, era }));
