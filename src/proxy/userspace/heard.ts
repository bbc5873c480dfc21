import type { NodeNetwork, Route } from '../routes/route.ts';

/**
 * Whose packets a door is to hear: of sources that are in a range of each list. No list: everybody's; a list without
 * ranges: nobody's. Who is not heard hears nothing either, as from a packet filter.
 */
export type Heard = readonly (readonly string[])[];

const everybody: Heard = [];
const nobody: Heard = [[]];
const loopback: readonly string[] = ['127.0.0.0/8', '::1/128'];

/** Whether the address of a route is held at all: where nobody is behind it the kernel refuses best. */
export const isHeld = ({ action, near }: Route): boolean =>
  [action, near?.action ?? action].some(({ type }) => type !== 'reject');

/** Whom the address of a route is to hear: all but those whose connections are dropped. */
export function heardAt({ address, action, near, sources }: Route, network: NodeNetwork): Heard {
  const isDropped = action.type === 'drop';
  if (isDropped && (near?.action ?? action).type === 'drop') return nobody;
  // Under policy Local, without an endpoint here: a load balancer that tries must not think that somebody is.
  const places = isDropped ? [nearRanges(address, network)] : everybody;
  return sources === undefined ? places : [...places, sources];
}

/** Where clients on this node are, and its Pods; as `originOf` tells them. */
const nearRanges = (address: string, { addresses, podRanges }: NodeNetwork): readonly string[] => [
  ...loopback,
  ...podRanges,
  ...Array.from([address, ...addresses], (each) => `${each}/${each.includes(':') ? 128 : 32}`),
];
