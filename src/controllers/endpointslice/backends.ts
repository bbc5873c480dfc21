// The desired endpoint of a Pod, and its comparison with the existing one.
import { zoneLabel } from '../../api/kinds/core/node/labels.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { IpFamily, Service } from '../../api/kinds/core/service/schema.ts';
import type { Endpoint, EndpointHints } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { addressesOf, hostnameIn, isReady, isTerminating, referenceTo } from '../backend.ts';

/** The published fields of a Pod. Endpoints are only built for Pods that changed. */
export interface Backend {
  readonly pod: Pod;
  readonly addresses: readonly string[];
  /** '' for none, also in the next two fields. */
  readonly hostname: string;
  readonly nodeName: string;
  readonly zone: string;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
}

/** Pod name → backend, for Pods with an address of the family. */
export function backendsOf(
  service: Service,
  pods: readonly Pod[],
  { family, nodes }: { readonly family: IpFamily; readonly nodes: ReadonlyMap<string, Node> },
): Map<string, Backend> {
  const publishesAll = service.spec.publishNotReadyAddresses ?? false;
  const backends = new Map<string, Backend>();
  for (const pod of pods) {
    const addresses = addressesOf(pod, family);
    if (addresses.length === 0) continue;
    const { nodeName = '' } = pod.spec;
    const serving = isReady(pod);
    const terminating = isTerminating(pod);
    backends.set(pod.metadata.name ?? '', {
      pod,
      addresses,
      hostname: hostnameIn(pod, service),
      nodeName,
      zone: nodes.get(nodeName)?.metadata.labels?.[zoneLabel] ?? '',
      ready: publishesAll || (serving && !terminating),
      serving,
      terminating,
    });
  }
  return backends;
}

/** Whether the endpoint belongs to this backend and can be updated in place. */
export function isSameBackend({ addresses, hostname = '', targetRef }: Endpoint, backend: Backend): boolean {
  const known = addresses ?? [];
  if (hostname !== backend.hostname || known.length !== backend.addresses.length) return false;
  if (targetRef?.namespace !== backend.pod.metadata.namespace) return false;
  // Usually there is one address; the order does not matter.
  return known.length === 1
    ? known[0] === backend.addresses[0]
    : known.every((address) => backend.addresses.includes(address));
}

/** Whether the endpoint is up to date, except for hints, which are computed later for all endpoints. */
export function isCurrent({ conditions, nodeName = '', zone = '', targetRef }: Endpoint, backend: Backend): boolean {
  return (
    conditions.ready === backend.ready &&
    conditions.serving === backend.serving &&
    conditions.terminating === backend.terminating &&
    nodeName === backend.nodeName &&
    zone === backend.zone &&
    targetRef?.uid === backend.pod.metadata.uid &&
    targetRef?.kind === 'Pod'
  );
}

/** The endpoint of a backend with its existing hints. */
export function endpointOf(backend: Backend, hints?: EndpointHints): Endpoint {
  const { addresses, hostname, nodeName, zone, ready, serving, terminating } = backend;
  return {
    addresses,
    conditions: { ready, serving, terminating },
    ...(hostname === '' ? {} : { hostname }),
    targetRef: referenceTo(backend.pod),
    ...(nodeName === '' ? {} : { nodeName }),
    ...(zone === '' ? {} : { zone }),
    ...(hints === undefined ? {} : { hints }),
  };
}
