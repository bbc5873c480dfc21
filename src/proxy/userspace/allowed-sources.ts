import type { NodeNetwork, Route } from '../routes/route.ts';

/**
 * The sources whose packets a listener receives: those in a range of each list. No list: all; a list without ranges: none. Other
 * packets are dropped without a reply, as by a packet filter.
 */
export type AllowedSources = readonly (readonly string[])[];

const anySource: AllowedSources = [];
const noSource: AllowedSources = [[]];
const loopback: readonly string[] = ['127.0.0.0/8', '::1/128'];

/** Whether a route needs a listener. If all connections are rejected, the kernel does that without one. */
export const isBound = ({ action, near }: Route): boolean =>
  [action, near?.action ?? action].some(({ type }) => type !== 'reject');

/** The sources that the listener of a route accepts: all but those whose connections are dropped. */
export function allowedSourcesOf({ address, action, near, sources }: Route, network: NodeNetwork): AllowedSources {
  const isDropped = action.type === 'drop';
  if (isDropped && (near?.action ?? action).type === 'drop') return noSource;
  // Under policy Local without a local endpoint, the health check of a load balancer must not connect.
  const origins = isDropped ? [nodeRanges(address, network)] : anySource;
  return sources === undefined ? origins : [...origins, sources];
}

/** The ranges of clients on this node and of its Pods, consistent with `originOf`. */
const nodeRanges = (address: string, { addresses, podRanges }: NodeNetwork): readonly string[] => [
  ...loopback,
  ...podRanges,
  ...Array.from([address, ...addresses], (each) => `${each}/${each.includes(':') ? 128 : 32}`),
];
