// Canonical form of the subsets of Endpoints.
import type { EndpointAddress, EndpointPort, EndpointSubset } from '../api/kinds/core/endpoints/schema.ts';
import { byKey, compareText } from '../api/order.ts';

interface Entry {
  readonly address: EndpointAddress;
  readonly ready: boolean;
}

/** The addresses with one port; `port` is undefined for addresses without ports. */
interface PortEntries {
  readonly port: EndpointPort | undefined;
  /** Address and UID → entry. */
  readonly entries: ReadonlyMap<string, Entry>;
}

const addressKey = ({ ip, targetRef }: EndpointAddress): string => `${ip} ${targetRef?.uid ?? ''}`;

const portKey = ({ name = '', protocol = 'TCP', port, appProtocol, srvServiceName }: EndpointPort): string =>
  JSON.stringify([name, protocol, port, appProtocol, srvServiceName]);

/**
 * Repacks subsets into one subset per distinct set of addresses. An address is identified by its IP and target UID; if it is
 * both ready and not ready on a port, it is not ready.
 */
export function repack(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] {
  const first = new Map<string, EndpointAddress>();
  const byPort = new Map<string, PortEntries>();
  for (const subset of subsets) {
    const entries = entriesOf(subset, first);
    if (entries.size === 0) continue;
    for (const port of subset.ports?.length ? subset.ports : [undefined]) {
      const key = port === undefined ? '' : portKey(port);
      const known = byPort.get(key)?.entries;
      byPort.set(key, { port, entries: known === undefined ? entries : merged(known, entries) });
    }
  }
  return grouped(byPort)
    .map((group) => group.sort(byKey))
    .sort((left, right) => compareText(left[0]?.[0] ?? '', right[0]?.[0] ?? ''))
    .map((group) => subsetOf(group.map(([, entries]) => entries)));
}

/** The other fields of an address are those of its first occurrence. */
function entriesOf(
  { addresses = [], notReadyAddresses = [] }: EndpointSubset,
  first: Map<string, EndpointAddress>,
): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>();
  const add = (address: EndpointAddress, ready: boolean): void => {
    const key = addressKey(address);
    const known = first.get(key) ?? address;
    first.set(key, known);
    entries.set(key, { address: known, ready });
  };
  for (const address of addresses) add(address, true);
  // After the ready addresses, so that not ready wins.
  for (const address of notReadyAddresses) add(address, false);
  return entries;
}

function merged(left: ReadonlyMap<string, Entry>, right: ReadonlyMap<string, Entry>): ReadonlyMap<string, Entry> {
  const entries = new Map(left);
  for (const [key, entry] of right) if (entries.get(key)?.ready !== false) entries.set(key, entry);
  return entries;
}

/** Groups ports with the same addresses. */
function grouped(byPort: ReadonlyMap<string, PortEntries>): [string, PortEntries][][] {
  const ports = [...byPort];
  const distinct = new Set(ports.map(([, { entries }]) => entries));
  // Usually all Pods serve the same ports.
  if (distinct.size === 1) return [ports];
  const signatures = new Map(Array.from(distinct, (entries) => [entries, signature(entries)]));
  return [...Map.groupBy(ports, ([, { entries }]) => signatures.get(entries)).values()];
}

const signature = (entries: ReadonlyMap<string, Entry>): string =>
  [...entries]
    .map(([key, { ready }]) => (ready ? `+${key}` : `-${key}`))
    .sort()
    .join();

function subsetOf(group: readonly PortEntries[]): EndpointSubset {
  const entries = group[0]?.entries ?? new Map<string, Entry>();
  const addresses: EndpointAddress[] = [];
  const notReadyAddresses: EndpointAddress[] = [];
  for (const key of [...entries.keys()].sort()) {
    const entry = entries.get(key);
    if (entry !== undefined) (entry.ready ? addresses : notReadyAddresses).push(entry.address);
  }
  const ports = group.flatMap(({ port }) => (port === undefined ? [] : [port]));
  return {
    ...(addresses.length === 0 ? {} : { addresses }),
    ...(notReadyAddresses.length === 0 ? {} : { notReadyAddresses }),
    ...(ports.length === 0 ? {} : { ports }),
  };
}

/** Whether two lists of subsets are equal, ignoring the revisions of target references. */
export const sameSubsets = (left: readonly EndpointSubset[], right: readonly EndpointSubset[]): boolean =>
  sameItems(
    left,
    right,
    (a, b) =>
      sameItems(a.addresses, b.addresses, sameAddress) &&
      sameItems(a.notReadyAddresses, b.notReadyAddresses, sameAddress) &&
      sameItems(a.ports, b.ports, (one, other) => portKey(one) === portKey(other)),
  );

function sameItems<T>(
  left: readonly T[] = [],
  right: readonly T[] = [],
  same: (left: T, right: T) => boolean,
): boolean {
  if (left.length !== right.length) return false;
  return left.every((item, index) => {
    const other = right[index];
    return other !== undefined && same(item, other);
  });
}

const sameAddress = (left: EndpointAddress, right: EndpointAddress): boolean =>
  left.ip === right.ip &&
  (left.hostname ?? '') === (right.hostname ?? '') &&
  left.nodeName === right.nodeName &&
  left.targetRef?.kind === right.targetRef?.kind &&
  left.targetRef?.namespace === right.targetRef?.namespace &&
  left.targetRef?.name === right.targetRef?.name &&
  left.targetRef?.uid === right.targetRef?.uid;
