import type { Protocol } from '../../api/kinds/core/service/schema.ts';

/** A port that is open at a load balancer. */
export interface OpenPort {
  readonly protocol: Protocol;
  readonly port: number;
}

/** One object of a cloud that belongs to a load balancer. */
export interface Resource {
  /** What it is, in the cloud's words: `Listener`. */
  readonly type: string;
  /** Tells apart resources of one type of one load balancer; the same for the same purpose, so that plans compare. */
  readonly id: string;
  /** Present on what the cloud counts or bills by: the ports it serves. */
  readonly serves?: readonly OpenPort[];
  /** What else is set, for a person. */
  readonly settings: Readonly<Record<string, string>>;
}

/** What tells resources of one load balancer apart. */
export const keyOfResource = ({ type, id }: Resource): string => `${type} ${id}`;

/** The text of a port: `53/UDP`. */
export const portText = ({ port, protocol }: OpenPort): string => `${port}/${protocol}`;

/** The resources that a cloud counts. */
export const unitsOf = (resources: readonly Resource[]): readonly Resource[] =>
  resources.filter(({ serves }) => serves !== undefined);

/** The ports that resources serve, as `53/UDP`. */
export const openPorts = (resources: readonly Resource[]): ReadonlySet<string> =>
  new Set(resources.flatMap(({ serves = [] }) => serves.map(portText)));

/** The writes that turn some resources into others, each list in the order in which it is to be made. */
export interface ResourceChanges {
  readonly create: readonly Resource[];
  readonly update: readonly Resource[];
  readonly remove: readonly Resource[];
}

/**
 * The difference. What is wanted comes in the order of its making: the instance first. What goes, goes in the opposite
 * order, and after what comes, so that a port that stays is never closed.
 */
export function changesBetween(existing: readonly Resource[], wanted: readonly Resource[]): ResourceChanges {
  const before = new Map(existing.map((resource) => [keyOfResource(resource), resource]));
  const after = new Set(wanted.map(keyOfResource));
  return {
    create: wanted.filter((resource) => !before.has(keyOfResource(resource))),
    update: wanted.filter((resource) => {
      const old = before.get(keyOfResource(resource));
      return old !== undefined && !isSame(old, resource);
    }),
    remove: existing.filter((resource) => !after.has(keyOfResource(resource))).toReversed(),
  };
}

function isSame(one: Resource, other: Resource): boolean {
  const text = ({ serves, settings }: Resource): string =>
    JSON.stringify([serves?.map(portText), Object.entries(settings).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
  return text(one) === text(other);
}
