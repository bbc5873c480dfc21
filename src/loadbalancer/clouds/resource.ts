import type { Protocol } from '../../api/kinds/core/service/schema.ts';
import { byKey } from '../../api/order.ts';

/** An open port of a load balancer. */
export interface OpenPort {
  readonly protocol: Protocol;
  readonly port: number;
}

/** One object of a cloud that belongs to a load balancer. */
export interface Resource {
  /** The type in the terms of the cloud, such as `Listener`. */
  readonly type: string;
  /** Identifies the resource among those of its type; stable, so that plans can be compared. */
  readonly id: string;
  /** The ports that a counted or billed resource serves. */
  readonly serves?: readonly OpenPort[];
  /** Other settings, as text. */
  readonly settings: Readonly<Record<string, string>>;
}

/** The key of a resource within a load balancer. */
export const keyOfResource = ({ type, id }: Resource): string => `${type} ${id}`;

/** The text of a port: `53/UDP`. */
export const portText = ({ port, protocol }: OpenPort): string => `${port}/${protocol}`;

/** The resources that a cloud counts. */
export const unitsOf = (resources: readonly Resource[]): readonly Resource[] =>
  resources.filter(({ serves }) => serves !== undefined);

/** The ports that resources serve, as `53/UDP`. */
export const openPorts = (resources: readonly Resource[]): ReadonlySet<string> =>
  new Set(resources.flatMap(({ serves = [] }) => serves.map(portText)));

/** Changes of resources, each list in the order of execution. */
export interface ResourceChanges {
  readonly create: readonly Resource[];
  readonly update: readonly Resource[];
  readonly remove: readonly Resource[];
}

/**
 * The difference between existing and desired resources. Creations are in the order of `desired`. Deletions come last and in
 * reverse order, so that no remaining port is closed.
 */
export function changesBetween(existing: readonly Resource[], desired: readonly Resource[]): ResourceChanges {
  const before = new Map(existing.map((resource) => [keyOfResource(resource), resource]));
  const after = new Set(desired.map(keyOfResource));
  return {
    create: desired.filter((resource) => !before.has(keyOfResource(resource))),
    update: desired.filter((resource) => {
      const old = before.get(keyOfResource(resource));
      return old !== undefined && !isSame(old, resource);
    }),
    remove: existing.filter((resource) => !after.has(keyOfResource(resource))).toReversed(),
  };
}

function isSame(one: Resource, other: Resource): boolean {
  const text = ({ serves, settings }: Resource): string =>
    JSON.stringify([serves?.map(portText), Object.entries(settings).toSorted(byKey)]);
  return text(one) === text(other);
}
