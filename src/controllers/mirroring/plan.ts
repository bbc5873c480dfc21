// Plans the slices that mirror one Endpoints object of a user or program.
import { isDeepStrictEqual } from 'node:util';

import type {
  EndpointAddress,
  EndpointPort as CorePort,
  Endpoints,
  EndpointSubset,
} from '../../api/kinds/core/endpoints/schema.ts';
import type { IpFamily, Service } from '../../api/kinds/core/service/schema.ts';
import {
  managedByLabel,
  serviceNameLabel,
  triggerTimeAnnotation,
} from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ObjectMeta } from '../../api/metadata.ts';
import { isOwnedBy, namePrefix, newSlice, ownedBy, portsKey, recycle, sameMap } from '../slices.ts';
import type { SliceWrites } from '../slices.ts';
import type { PlannedEvent } from '../../client/event-correlator.ts';
import { familyOf, canonicalAddress } from '../../api/addresses.ts';
import type { Gates } from '../../api/gates.ts';
import { withoutSrvName } from '../../api/kinds/core/service/facts.ts';
import { byName } from '../../api/order.ts';
import { repack } from '../subsets.ts';

/** The managed-by label of the slices that this controller owns. */
export const managedBy = 'endpointslicemirroring-controller.k8s.io';
/** Disables mirroring of Endpoints with the value `true`. */
const skipMirrorLabel = 'endpointslice.kubernetes.io/skip-mirror';

const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader';
const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** The input of a plan. */
export interface Observed {
  /** undefined: they do not exist. */
  readonly endpoints: Endpoints | undefined;
  /** The Service of the same name; undefined if there is none. */
  readonly service: Service | undefined;
  /** The slices of this Service; those of other controllers are ignored. */
  readonly slices: readonly EndpointSlice[];
  readonly gates: Gates;
  /** Maximum mirrored addresses per subset; default 1000. */
  readonly maxEndpointsPerSubset?: number;
}

/** Empty if the mirrors are up to date. */
export interface Plan extends SliceWrites {
  /** Events to record on the Endpoints. */
  readonly events: readonly PlannedEvent[];
}

/** Plans the mirrors of one Endpoints object. */
export function plan({ endpoints, service, slices, gates, maxEndpointsPerSubset: max = 1000 }: Observed): Plan {
  const own = slices
    .filter(({ metadata: { labels, deletionTimestamp } }) => {
      return labels?.[managedByLabel] === managedBy && deletionTimestamp === undefined;
    })
    .sort(byName);
  if (endpoints === undefined || !isMirrored(endpoints, service)) {
    return { create: [], update: [], remove: own, events: [] };
  }
  const content = mirrored(endpoints.subsets ?? [], max, gates);
  return { ...writes(endpoints, own, content.mirrors), events: eventsAbout(content, max) };
}

/** A Service with a selector has slices of its own, and leader election locks are no endpoints. */
const isMirrored = ({ metadata: { labels, annotations } }: Endpoints, service: Service | undefined): boolean =>
  labels?.[skipMirrorLabel] !== 'true' &&
  annotations?.[leaderAnnotation] === undefined &&
  service !== undefined &&
  service.spec.selector === undefined;

function writes(endpoints: Endpoints, own: readonly EndpointSlice[], mirrors: readonly Mirror[]): SliceWrites {
  const metadata = metadataFor(endpoints);
  const owner = ownedBy('Endpoints', endpoints.metadata);
  const keyOf = ({ addressType, ports }: EndpointSlice | Mirror): string => `${addressType} ${portsKey(ports)}`;
  const free = new Map(own.filter((slice) => isOwnedBy(slice, owner)).map((slice) => [keyOf(slice), slice]));
  const kept = new Set<EndpointSlice>();
  const create: EndpointSlice[] = [];
  const update: EndpointSlice[] = [];
  for (const mirror of mirrors) {
    const wanted = { ...newSlice(metadata, mirror.addressType, mirror.ports), endpoints: mirror.endpoints };
    const existing = free.get(keyOf(mirror));
    if (existing !== undefined) kept.add(existing);
    if (existing === undefined) create.push(wanted);
    else if (!isCurrent(existing, wanted)) update.push(inSliceOf(existing, wanted));
  }
  return recycle({ create, update, remove: own.filter((slice) => !kept.has(slice)) }, owner);
}

const isCurrent = (existing: EndpointSlice, wanted: EndpointSlice): boolean =>
  sameMap(existing.metadata.labels, wanted.metadata.labels) &&
  sameMap(existing.metadata.annotations, wanted.metadata.annotations) &&
  isDeepStrictEqual(existing.endpoints, wanted.endpoints);

/** The wanted content with the name and revision of the existing slice. */
function inSliceOf(existing: EndpointSlice, { metadata, endpoints }: EndpointSlice): EndpointSlice {
  const { annotations: _annotations, ...kept } = existing.metadata;
  const { generateName: _prefix, ...wanted } = metadata;
  return { ...existing, metadata: { ...kept, ...wanted }, endpoints };
}

/** Copies the labels and annotations of the Endpoints, except those for their writer. */
function metadataFor({ metadata }: Endpoints): ObjectMeta {
  const { name = '', namespace = '', labels } = metadata;
  const {
    [triggerTimeAnnotation]: _time,
    [lastAppliedAnnotation]: _applied,
    ...annotations
  } = metadata.annotations ?? {};
  return {
    generateName: namePrefix(name),
    namespace,
    labels: { ...labels, [serviceNameLabel]: name, [managedByLabel]: managedBy },
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    ownerReferences: [ownedBy('Endpoints', metadata)],
  };
}

function eventsAbout({ invalid, beyondMax }: Mirrored, max: number): readonly PlannedEvent[] {
  const skipped = `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`;
  const tooMany = `A max of ${max} addresses can be mirrored to EndpointSlices per Endpoints subset. ${beyondMax} addresses were skipped`;
  return [
    ...(invalid > 0 ? [{ type: 'Warning', reason: 'InvalidIPAddress', message: skipped } as const] : []),
    ...(beyondMax > 0 ? [{ type: 'Warning', reason: 'TooManyAddressesToMirror', message: tooMany } as const] : []),
  ];
}

/** The content of one slice. */
interface Mirror {
  readonly addressType: IpFamily;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

/** The slices of an Endpoints object and the numbers of skipped addresses. */
interface Mirrored {
  readonly mirrors: readonly Mirror[];
  readonly invalid: number;
  readonly beyondMax: number;
}

/** One slice per subset and address family. The families of the Service do not matter. */
function mirrored(subsets: readonly EndpointSubset[], max: number, gates: Gates): Mirrored {
  const copiesSrvName = gates.enabled('SRVServiceName');
  const mirrors: Mirror[] = [];
  let invalid = 0;
  let beyondMax = 0;
  for (const subset of repack(subsets.map((each) => withPorts(each, copiesSrvName)))) {
    const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
    const found: Record<IpFamily, Endpoint[]> = { IPv4: [], IPv6: [] };
    // Ready addresses come first, so that others are skipped before them.
    for (const [ready, list] of [[true, addresses] as const, [false, notReadyAddresses] as const]) {
      for (const address of list) {
        const family = familyOf(address.ip);
        if (found.IPv4.length + found.IPv6.length >= max) beyondMax++;
        else if (family === undefined) invalid++;
        else found[family].push(endpointOf(address, ready));
      }
    }
    for (const addressType of ['IPv4', 'IPv6'] as const) {
      const endpoints = found[addressType];
      if (endpoints.length > 0) mirrors.push({ addressType, ports: ports.map(portOf), endpoints });
    }
  }
  return { mirrors, invalid, beyondMax };
}

/** Removes the field before subsets are grouped; otherwise two slices could have equal ports. */
function withPorts(subset: EndpointSubset, copiesSrvName: boolean): EndpointSubset {
  if (copiesSrvName || subset.ports === undefined) return subset;
  return { ...subset, ports: subset.ports.map(withoutSrvName) };
}

const portOf = ({ name = '', protocol = 'TCP', ...rest }: CorePort): EndpointPort => ({ name, protocol, ...rest });

const endpointOf = ({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint => ({
  addresses: [canonicalAddress(ip) ?? ip],
  conditions: { ready },
  ...(hostname ? { hostname } : {}),
  ...(targetRef === undefined ? {} : { targetRef }),
  ...(nodeName === undefined ? {} : { nodeName }),
});
