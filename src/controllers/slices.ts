// Shared by the controllers that write EndpointSlices: names, owners, ports, and reuse of existing slices.
import type { AddressType, EndpointPort, EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import type { ObjectMeta, OwnerReference } from '../api/metadata.ts';
import { subdomainName } from '../api/names.ts';

/** The prefix of generated names: the name of the owner with a hyphen, unless that is no valid name. */
export const namePrefix = (owner: string): string =>
  subdomainName(`${owner}-`, true).length === 0 ? `${owner}-` : owner;

/** The owner reference to a Service or to Endpoints. */
export const ownedBy = (kind: string, { name = '', uid = '' }: ObjectMeta): OwnerReference => ({
  apiVersion: 'v1',
  kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});

/** Whether `owner` owns the slice; an earlier object of the same name has another UID. */
export const isOwnedBy = ({ metadata }: EndpointSlice, owner: OwnerReference): boolean =>
  metadata.ownerReferences?.some(
    ({ apiVersion, kind, name, uid }) =>
      uid === owner.uid && name === owner.name && kind === owner.kind && apiVersion === owner.apiVersion,
  ) ?? false;

/** A slice without a name, which the server generates. */
export const newSlice = (
  metadata: ObjectMeta,
  addressType: AddressType,
  ports: readonly EndpointPort[],
): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata,
  addressType,
  endpoints: [],
  ports,
});

/** A key that is equal for lists with the same ports in any order. */
export const portsKey = (ports: readonly EndpointPort[] | null): string =>
  (ports ?? [])
    .map(({ name = '', protocol = 'TCP', port, appProtocol, srvServiceName }) =>
      JSON.stringify([name, protocol, port, appProtocol, srvServiceName]),
    )
    .sort()
    .join();

/** Slices to write: those in `create` have no name yet, those in `update` carry the revision that was read. */
export interface SliceWrites {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
}

/**
 * Replaces pairs of a creation and a deletion by one update, so that watchers receive one event and the endpoints are
 * always in a slice. Reuses only slices of `owner`; the garbage collector deletes the others.
 */
export function recycle({ create, update, remove }: SliceWrites, owner: OwnerReference): SliceWrites {
  const left = [...create];
  const reused: EndpointSlice[] = [];
  const removed = remove.filter((old) => {
    const at = isOwnedBy(old, owner) ? left.findIndex(({ addressType }) => addressType === old.addressType) : -1;
    const [fresh] = at === -1 ? [] : left.splice(at, 1);
    if (fresh !== undefined) reused.push(inPlaceOf(old, fresh));
    return fresh === undefined;
  });
  return { create: left, update: [...update, ...reused], remove: removed };
}

/** `fresh` with the name and revision of `old`. */
function inPlaceOf(old: EndpointSlice, fresh: EndpointSlice): EndpointSlice {
  const { annotations: _annotations, ...kept } = old.metadata;
  const { generateName: _prefix, ...wanted } = fresh.metadata;
  return { ...fresh, metadata: { ...kept, ...wanted } };
}

/** Whether two maps of labels or annotations are equal; undefined equals an empty map. */
export function sameMap(
  left: Readonly<Record<string, string>> = {},
  right: Readonly<Record<string, string>> = {},
): boolean {
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => left[key] === right[key]);
}
