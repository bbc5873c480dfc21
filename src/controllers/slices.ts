// What every writer of EndpointSlices does alike: names, owners, ports, and reusing slices instead of replacing them.
import type { AddressType, EndpointPort, EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import type { ObjectMeta, OwnerReference } from '../api/metadata.ts';
import { subdomainName } from '../api/names.ts';

/** The prefix of generated names: the owner's name and a hyphen, or the bare name where that would be no name. */
export const namePrefix = (owner: string): string =>
  subdomainName(`${owner}-`, true).length === 0 ? `${owner}-` : owner;

/** Refers to the object that a slice goes with. */
export const ownedBy = (kind: string, { name = '', uid = '' }: ObjectMeta): OwnerReference => ({
  apiVersion: 'v1',
  kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});

/** Whether `owner` is among the owners of the slice; one of the same name that existed before is not. */
export const isOwnedBy = ({ metadata }: EndpointSlice, owner: OwnerReference): boolean =>
  metadata.ownerReferences?.some(
    ({ apiVersion, kind, name, uid }) =>
      uid === owner.uid && name === owner.name && kind === owner.kind && apiVersion === owner.apiVersion,
  ) ?? false;

/** A slice that the server is to name. */
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

/** Equal for two lists of ports if and only if they hold the same ports, in whatever order. */
export const portsKey = (ports: readonly EndpointPort[] | null): string =>
  (ports ?? [])
    .map(({ name = '', protocol = 'TCP', port, appProtocol, srvServiceName }) =>
      JSON.stringify([name, protocol, port, appProtocol, srvServiceName]),
    )
    .sort()
    .join();

/** Compares by name, so that what is planned does not depend on the order of a cache. */
export const byName = (left: EndpointSlice, right: EndpointSlice): number =>
  (left.metadata.name ?? '') < (right.metadata.name ?? '') ? -1 : 1;

/** Slices to write: `create` have no name yet, `update` carry the revision they were read at. */
export interface SliceWrites {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
}

/**
 * Turns pairs of a creation and a removal into an update: watchers see one change instead of two, and no moment at
 * which the endpoints are in neither slice. Only slices of `owner` are reused: others are being collected.
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

/** `fresh` under the name and revision of `old`; nothing else of `old` stays. */
function inPlaceOf(old: EndpointSlice, fresh: EndpointSlice): EndpointSlice {
  const { annotations: _annotations, ...kept } = old.metadata;
  const { generateName: _prefix, ...wanted } = fresh.metadata;
  return { ...fresh, metadata: { ...kept, ...wanted } };
}
