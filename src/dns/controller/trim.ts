// Functions that reduce watched objects to the fields that records need, about a tenth of their size.
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import { serviceNameLabel, triggerTimeAnnotation } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ObjectMeta } from '../../api/metadata.ts';
import { importNameLabel, importedServiceNameLabel, sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import { srvNamesAnnotation } from '../../api/kinds/core/service/srv-names.ts';

/** Copies an object without its undefined fields. */
function only<T extends object>(fields: T): T {
  // A cast: readers treat undefined and absent fields alike.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

/** Keeps the identity of an object and the named labels and annotations. */
function trimMetadata(
  metadata: ObjectMeta,
  keep: { readonly labels?: readonly string[]; readonly annotations?: readonly string[] },
): ObjectMeta {
  const { name, namespace, uid, resourceVersion, deletionTimestamp } = metadata;
  const labels = pick(metadata.labels, keep.labels);
  const annotations = pick(metadata.annotations, keep.annotations);
  // A cast: as in `only`.
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

/** The fields of a Service that records need. A selector becomes an empty object: only its presence matters. */
export function trimService({ metadata, spec }: Service): Service {
  const { type, clusterIP, clusterIPs, externalName, ports, selector } = spec;
  const trimmed = {
    metadata: trimMetadata(metadata, { annotations: [srvNamesAnnotation] }),
    spec: only({
      type,
      clusterIP,
      // Nearly always clusterIPs repeats clusterIP.
      clusterIPs: clusterIPs?.length === 1 && clusterIPs[0] === clusterIP ? undefined : clusterIPs,
      externalName,
      ports: ports?.map(trimPort),
      selector: selector === undefined || Object.keys(selector).length === 0 ? undefined : selected,
    }),
  };
  // A cast: the missing fields are never read in this part.
  return trimmed as unknown as Service;
}

const selected: Readonly<Record<string, string>> = {};

const trimPort = <T extends ServicePort | EndpointPort>({ name, protocol, port, srvServiceName }: T): T =>
  // A cast: the missing fields are never read in this part.
  only({ name, protocol, port, srvServiceName }) as T;

/** Endpoint fields that only some options need. */
export interface EndpointDetails {
  readonly endpointPodNames?: boolean;
  readonly zonal?: boolean;
}

/**
 * The fields of a slice that records need. Endpoints that differ only in their address become one endpoint with all
 * addresses: a cluster may have hundreds of thousands, and the records are the same.
 */
export const trimSliceTo =
  ({ endpointPodNames = false, zonal = false }: EndpointDetails) =>
  ({ metadata, addressType, endpoints, ports }: EndpointSlice): EndpointSlice => {
    const plain: Record<'ready' | 'notReady', string[]> = { ready: [], notReady: [] };
    const others: Endpoint[] = [];
    for (const endpoint of endpoints ?? []) {
      const { addresses, hostname, targetRef, zone } = endpoint;
      const isPublished = isReady(endpoint);
      const pod = endpointPodNames && targetRef?.kind === 'Pod' ? (targetRef.name ?? '') : '';
      const topologyZone = zonal ? (zone ?? '') : '';
      if (!hostname && pod === '' && topologyZone === '') {
        plain[isPublished ? 'ready' : 'notReady'].push(...(addresses ?? []));
      } else {
        others.push({
          addresses,
          conditions: isPublished ? ready : notReady,
          ...(hostname ? { hostname } : {}),
          ...(pod === '' ? {} : { targetRef: { kind: 'Pod', name: pod } }),
          ...(topologyZone === '' ? {} : { zone: topologyZone }),
        });
      }
    }
    // slice() drops the spare capacity of the arrays.
    if (plain.ready.length > 0) others.push({ addresses: plain.ready.slice(), conditions: ready });
    if (plain.notReady.length > 0) others.push({ addresses: plain.notReady.slice(), conditions: notReady });
    return {
      metadata: trimMetadata(metadata, { labels: sliceLabels, annotations: [triggerTimeAnnotation] }),
      addressType,
      endpoints: others,
      ports: (ports ?? []).map(trimPort),
    };
  };

const sliceLabels = [serviceNameLabel, importNameLabel, importedServiceNameLabel, sourceClusterLabel];

const ready = { ready: true };
const notReady = { ready: false };

/** The fields of a Namespace by which it is selected. */
export function trimNamespace({ metadata }: Namespace): Namespace {
  const { labels } = metadata;
  const trimmed = { metadata: { ...trimMetadata(metadata, {}), ...(labels === undefined ? {} : { labels }) } };
  // A cast: the missing fields are never read in this part.
  return trimmed as Namespace;
}

/** The fields of a Pod that records need. */
export function trimPod({ metadata, status }: Pod): Pod {
  const { phase, podIP, podIPs } = status ?? {};
  const own = podIPs?.length === 1 && podIPs[0]?.ip === podIP ? undefined : podIPs;
  const trimmed = { metadata: trimMetadata(metadata, {}), status: only({ phase, podIP, podIPs: own }) };
  // A cast: the missing fields are never read in this part.
  return trimmed as Pod;
}
