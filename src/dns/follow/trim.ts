// What is kept of the objects that are followed: a cluster has ten times as much that no record is made from.
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import { serviceNameLabel, triggerTimeAnnotation } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ApiObject, ObjectMeta } from '../../api/metadata.ts';
import { importNameLabel, seedImportNameLabel, sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import { srvNamesAnnotation } from '../records/srv.ts';

/** The fields of an object that are set. */
function only<T extends object>(fields: T): T {
  // A cast since fields that are undefined are as good as absent, to the reader if not to the type.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

/** Keeps which object it is, and of its labels and annotations those that are named. */
function trimMetadata(
  metadata: ObjectMeta,
  keep: { readonly labels?: readonly string[]; readonly annotations?: readonly string[] },
): ObjectMeta {
  const { name, namespace, uid, resourceVersion, deletionTimestamp } = metadata;
  const labels = pick(metadata.labels, keep.labels);
  const annotations = pick(metadata.annotations, keep.annotations);
  // A cast as above.
  return only({ name, namespace, uid, resourceVersion, deletionTimestamp, labels, annotations }) as ObjectMeta;
}

function pick(
  map: Readonly<Record<string, string>> | undefined,
  names: readonly string[] = [],
): Record<string, string> | undefined {
  const found = names.flatMap((name) => {
    const value = map?.[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** An object without what only the server needs. */
export function trimObject<T extends ApiObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** The parts of a Service that records are made of. Its selector is kept as whether there is one. */
export function trimService({ metadata, spec }: Service): Service {
  const { type, clusterIP, clusterIPs, externalName, ports, selector } = spec;
  const trimmed = {
    metadata: trimMetadata(metadata, { annotations: [srvNamesAnnotation] }),
    spec: only({
      type,
      clusterIP,
      // Nearly always there is one address, which both fields have.
      clusterIPs: clusterIPs?.length === 1 && clusterIPs[0] === clusterIP ? undefined : clusterIPs,
      externalName,
      ports: ports?.map(trimPort),
      selector: selector === undefined || Object.keys(selector).length === 0 ? undefined : selected,
    }),
  };
  // A cast since the rest of what a Service must have is never read here.
  return trimmed as unknown as Service;
}

const selected: Readonly<Record<string, string>> = {};

const trimPort = <T extends ServicePort | EndpointPort>({ name, protocol, port, srvServiceName }: T): T =>
  // A cast since the rest of what a port may have is never read here.
  only({ name, protocol, port, srvServiceName }) as T;

/** What else endpoints are known by, where records are made of it. */
export interface EndpointDetails {
  readonly endpointPodNames?: boolean;
  readonly zonal?: boolean;
}

/**
 * The parts of a slice that records are made of. Endpoints that differ in nothing but their address become one with all
 * addresses: a cluster has hundreds of thousands, and the same names are made of it.
 */
export const trimSliceTo =
  ({ endpointPodNames = false, zonal = false }: EndpointDetails) =>
  ({ metadata, addressType, endpoints, ports }: EndpointSlice): EndpointSlice => {
    const plain: Record<'ready' | 'notReady', string[]> = { ready: [], notReady: [] };
    const others: Endpoint[] = [];
    for (const endpoint of endpoints ?? []) {
      const { addresses, hostname, targetRef, zone } = endpoint;
      const takesTraffic = isReady(endpoint);
      const pod = endpointPodNames && targetRef?.kind === 'Pod' ? (targetRef.name ?? '') : '';
      const place = zonal ? (zone ?? '') : '';
      if (!hostname && pod === '' && place === '') {
        plain[takesTraffic ? 'ready' : 'notReady'].push(...(addresses ?? []));
      } else {
        others.push({
          addresses,
          conditions: takesTraffic ? ready : notReady,
          ...(hostname ? { hostname } : {}),
          ...(pod === '' ? {} : { targetRef: { kind: 'Pod', name: pod } }),
          ...(place === '' ? {} : { zone: place }),
        });
      }
    }
    // Slicing leaves no room to grow.
    if (plain.ready.length > 0) others.push({ addresses: plain.ready.slice(), conditions: ready });
    if (plain.notReady.length > 0) others.push({ addresses: plain.notReady.slice(), conditions: notReady });
    return {
      metadata: trimMetadata(metadata, { labels: sliceLabels, annotations: [triggerTimeAnnotation] }),
      addressType,
      endpoints: others,
      ports: (ports ?? []).map(trimPort),
    };
  };

const sliceLabels = [serviceNameLabel, importNameLabel, seedImportNameLabel, sourceClusterLabel];

const ready = { ready: true };
const notReady = { ready: false };

/** The parts of a Namespace by which it is chosen. */
export function trimNamespace({ metadata }: Namespace): Namespace {
  const { labels } = metadata;
  const trimmed = { metadata: { ...trimMetadata(metadata, {}), ...(labels === undefined ? {} : { labels }) } };
  // A cast since the rest of what a Namespace has is never read here.
  return trimmed as Namespace;
}

/** The parts of a Pod that records are made of. */
export function trimPod({ metadata, status }: Pod): Pod {
  const { phase, podIP, podIPs } = status ?? {};
  const own = podIPs?.length === 1 && podIPs[0]?.ip === podIP ? undefined : podIPs;
  const trimmed = { metadata: trimMetadata(metadata, {}), status: only({ phase, podIP, podIPs: own }) };
  // A cast since the rest of what a Pod must have is never read here.
  return trimmed as Pod;
}
