// What should be written for one Endpoints object that a person or program keeps: slices that say the same.
import { isDeepStrictEqual } from 'node:util';

import type { Gates } from '../../api/gates.ts';
import type { Endpoints } from '../../api/kinds/core/endpoints/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import {
  managedByLabel,
  serviceNameLabel,
  triggerTimeAnnotation,
} from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ObjectMeta } from '../../api/metadata.ts';
import { sameMap } from '../same-map.ts';
import type { SliceWrites } from '../slices.ts';
import type { PlannedEvent } from '../../client/event-correlator.ts';
import { byName, isOwnedBy, namePrefix, newSlice, ownedBy, portsKey, recycle } from '../slices.ts';
import type { Mirror, Mirrored } from './mirrored.ts';
import { mirrored } from './mirrored.ts';

/** The value of the managed-by label on the slices that this controller writes; it touches no others. */
export const managedBy = 'endpointslicemirroring-controller.k8s.io';
/** On Endpoints, with the value `true`: not to be mirrored. */
const skipMirrorLabel = 'endpointslice.kubernetes.io/skip-mirror';

const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader';
const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** Everything a plan depends on. */
export interface Observed {
  /** undefined: gone. */
  readonly endpoints: Endpoints | undefined;
  /** The Service of the same name; undefined if there is none. */
  readonly service: Service | undefined;
  /** The slices whose label names this Service; those of other writers are ignored. */
  readonly slices: readonly EndpointSlice[];
  readonly gates: Gates;
  /** How many addresses of one subset are mirrored; 1000 by default. */
  readonly maxEndpointsPerSubset?: number;
}

/** The writes that make the mirrors of one Endpoints object right; all empty when they already are. */
export interface Plan extends SliceWrites {
  /** To be recorded on the Endpoints. */
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

/** Endpoints of a Service with a selector have slices of their own, and a lock of a leader election needs none. */
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

/** The wanted content under the name and revision of the slice that is there. */
function inSliceOf(existing: EndpointSlice, { metadata, endpoints }: EndpointSlice): EndpointSlice {
  const { annotations: _annotations, ...kept } = existing.metadata;
  const { generateName: _prefix, ...wanted } = metadata;
  return { ...existing, metadata: { ...kept, ...wanted }, endpoints };
}

/** Everything that Endpoints say about themselves is said of the mirrors, but for what only their writer needs. */
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
