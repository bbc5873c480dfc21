import type { ApiObject } from './metadata.ts';
import type { Quantity } from './quantity.ts';

/** Amounts by the resource names of a ResourceQuota. */
export type Amounts = ReadonlyMap<string, Quantity>;

/** A scope of a ResourceQuota: a condition on the objects that the quota counts. */
export interface QuotaScope {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/** How a ResourceQuota counts the objects of one kind. */
export interface QuotaEvaluator<T extends ApiObject = ApiObject> {
  /** Whether objects of the kind can use the resource of this name. */
  counts(name: string): boolean;
  /** What an object uses; without it an object uses one of each counted name, and is not decoded. */
  usage?(object: T): Amounts;
  /** Whether an object is in a scope; without it no object is in any scope. */
  isInScope?(object: T, scope: QuotaScope): boolean;
  /** The error for a new object that does not specify an amount of these limited names, in Kubernetes' words. */
  missing?(object: T, names: readonly string[]): string | undefined;
  /** Updates are charged as well as creations. */
  readonly checksUpdates?: true;
}

/** Counts objects under these names, one each. */
export const countedAs = (...names: readonly string[]): QuotaEvaluator => ({ counts: (name) => names.includes(name) });
