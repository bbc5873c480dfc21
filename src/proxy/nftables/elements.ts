// The elements of one route in the fixed sets and maps of its family's table. Keys and values are addresses, protocols and
// numbers, never names of objects.
import type { Action, Masquerade, Route, Target } from '../routes/route.ts';
import type { Chain, LayerFour } from './chains.ts';
import { chainName, nearOffset } from './chains.ts';

/** A set or map of the table; see skeleton.ts. */
export type SetName =
  | 'services'
  | 'near-pods'
  | 'near-node'
  | 'refused'
  | 'refused-near'
  | 'restricted'
  | 'allowed'
  | `slots-${LayerFour}`
  | 'draw'
  | 'alive'
  | 'alive-near'
  | `ids-${LayerFour}`
  | 'cluster-ips'
  | 'hairpin'
  | 'sticky-ips';

/** An element of a set or map. Elements of shared sets can belong to several routes. */
export interface Element {
  readonly set: SetName;
  readonly key: string;
  readonly value?: string;
}

/** Sets whose elements several routes can share; they are removed with the last route. */
export const sharedSets: ReadonlySet<SetName> = new Set(['cluster-ips', 'hairpin', 'sticky-ips']);

/** Targets by slot; the weight of a target is the number of its slots. */
export type Slots = readonly Target[];

/** A route with its slots; see slots.ts. */
export interface SlottedRoute {
  readonly route: Route;
  readonly slots: Slots;
  readonly nearSlots: Slots;
}

/** The elements of one route. */
export function elementsOf(slotted: SlottedRoute): readonly Element[] {
  const { route, slots, nearSlots } = slotted;
  const front = frontOf(route);
  const elements: Element[] = [];
  if (route.kind === 'clusterIP') elements.push({ set: 'cluster-ips', key: route.address });
  if (route.sources !== undefined) {
    elements.push({ set: 'restricted', key: front });
    for (const range of route.sources) elements.push({ set: 'allowed', key: `${front} . ${range}` });
  }
  const isSticky = [...slots, ...nearSlots].some(({ stickySeconds }) => stickySeconds > 0);
  const toChain = (isNear: boolean, masquerades: boolean, count: number): string =>
    goto({ type: isSticky ? 'sticky' : 'pick', protocol: layerFour(route), count, isNear, masquerades });
  // One rule masquerades all cluster IPs; see skeleton.ts.
  const masquerades = (rule: Masquerade): boolean => rule === 'always';
  if (route.action.type === 'forward') {
    elements.push({ set: 'services', key: front, value: toChain(false, masquerades(route.masquerade), slots.length) });
  } else elements.push({ set: 'refused', key: front, value: refusal(route.action) });
  if (route.near?.action.type === 'forward') {
    const { masquerade } = route.near;
    const always = masquerades(masquerade);
    elements.push({ set: 'refused-near', key: front, value: 'return' });
    elements.push({ set: 'near-pods', key: front, value: toChain(true, always, nearSlots.length) });
    elements.push({ set: 'near-node', key: front, value: toChain(true, masquerade !== 'never', nearSlots.length) });
  } else if (route.near !== undefined) {
    elements.push({ set: 'refused-near', key: front, value: refusal(route.near.action) });
  }
  elements.push(...(isSticky ? stickyElements(slotted, front) : slotElements(slotted)));
  const hairpins = new Set<string>();
  for (const target of [...slots, ...nearSlots]) {
    if (target.isLocal) hairpins.add(target.address);
  }
  for (const address of hairpins) elements.push({ set: 'hairpin', key: `${address} . ${address}` });
  return elements;
}

const goto = (chain: Chain): string => `goto ${chainName(chain)}`;

const refusal = ({ type }: Action): string => (type === 'drop' ? 'drop' : 'goto refuse');

/** The protocol name of nft. */
export const layerFour = ({ protocol }: Pick<Route, 'protocol'>): LayerFour => layerFours[protocol];

const layerFours = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' } as const;

const frontOf = (route: Route): string => `${route.address} . ${layerFour(route)} . ${route.port}`;

function slotElements({ route, slots, nearSlots }: SlottedRoute): readonly Element[] {
  const set = `slots-${layerFour(route)}` as const;
  const element =
    (offset: number) =>
    (target: Target, index: number): Element => ({
      set,
      key: `${route.address} . ${route.port} . ${offset + index}`,
      value: destination(target),
    });
  return [...slots.map(element(0)), ...nearSlots.map(element(nearOffset))];
}

const destination = ({ address, port }: Target): string => `${address} . ${port}`;

/** With affinity, a slot holds the id of a target, which the kernel stores per client; another map has the address of each id. */
function stickyElements({ route, slots, nearSlots }: SlottedRoute, front: string): readonly Element[] {
  const ids = idsOf([...slots, ...nearSlots]);
  const id = (target: Target): number => ids.get(destination(target)) ?? 0;
  const draw =
    (offset: number) =>
    (target: Target, index: number): Element => ({
      set: 'draw',
      key: `${front} . ${offset + index}`,
      value: String(id(target)),
    });
  const alive =
    (set: 'alive' | 'alive-near') =>
    (target: Target): readonly Element[] => {
      if (target.stickySeconds === 0) return [];
      const value = goto({ type: 'affinity', protocol: layerFour(route), seconds: target.stickySeconds });
      return [{ set, key: `${front} . ${id(target)}`, value }];
    };
  return [
    { set: 'sticky-ips', key: route.address },
    ...slots.map(draw(0)),
    ...nearSlots.map(draw(nearOffset)),
    ...distinct(slots).flatMap(alive('alive')),
    ...distinct(nearSlots).flatMap(alive('alive-near')),
    ...Array.from(ids, ([value, number]): Element => ({
      set: `ids-${layerFour(route)}`,
      key: `${route.address} . ${route.port} . ${number}`,
      value,
    })),
  ];
}

const distinct = (slots: Slots): readonly Target[] => [
  ...new Map(slots.map((target) => [destination(target), target])).values(),
];

/**
 * Destination → its id, from 1: a hash, so that ids and thereby session affinity survive restarts and reordering. After a
 * collision, the later one in sort order takes the next id.
 */
function idsOf(targets: Slots): ReadonlyMap<string, number> {
  const ids = new Map<string, number>();
  const taken = new Set<number>();
  for (const text of [...new Set(targets.map(destination))].sort()) {
    let id = hash(text);
    while (id === 0 || taken.has(id)) id = (id + 1) >>> 0;
    taken.add(id);
    ids.set(text, id);
  }
  return ids;
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193) >>> 0;
  return value;
}
