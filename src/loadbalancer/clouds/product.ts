// What a product can do: one row of a cloud's table.
import type { Protocol } from '../../api/kinds/core/service/schema.ts';

/** The clouds as KEP-1435 found them in July 2020, or as they are today. */
export type Era = 'seed' | 'today';

/** The eras, in the order in which tables list them. */
export const eras: readonly Era[] = ['seed', 'today'];

/** The strongest mix of protocols on one address. */
export type Mixing = 'none' | 'distinctPorts' | 'samePort';

/**
 * How ports become the units that a cloud counts: one each; one for TCP and UDP on one number; one a protocol; one for
 * everything.
 */
export type UnitForm = 'separate' | 'merged' | 'perProtocol' | 'everything';

/** One product at one time. A cloud's table has one row for each. */
export interface Product {
  readonly name: string;
  readonly era: Era;
  readonly title: string;
  /** How a Service or an administrator asks for this product, for a person. */
  readonly askedBy: string;
  /** Protocols that ports may have. */
  readonly l4: readonly Protocol[];
  /** Application protocols that annotations may ask for. */
  readonly l7: readonly string[];
  readonly mixed: Mixing;
  readonly form: UnitForm;
  /** What one counted object is called. */
  readonly unit: string;
  /** How many units one load balancer may have unless the cloud was asked for more; left out: not known. */
  readonly maxUnits?: number;
  /** The annotation without which TCP and UDP on one number are refused. */
  readonly samePortOptIn?: string;
  /** Health checks need a TCP port among the ports. */
  readonly needsTcp?: true;
  /** Its targets are node ports, and it cannot do without. */
  readonly needsNodePorts?: true;
  readonly addressing: 'ip' | 'hostname';
  readonly ipMode: 'VIP' | 'Proxy';
  /** Cells that no source confirms yet, for a person. */
  readonly unverified?: string;
}

/** Rows that are the same in both eras. */
export const inBothEras = (product: Omit<Product, 'era'>): readonly Product[] =>
  eras.map((era) => ({ ...product, era }));
