import { indexByService } from '../api/kinds/discovery/endpointslice/facts.ts';
import { endpointsKind } from '../api/kinds/core/endpoints/kind.ts';
import type { Endpoints } from '../api/kinds/core/endpoints/schema.ts';
import { nodeKind } from '../api/kinds/core/node/kind.ts';
import type { Node } from '../api/kinds/core/node/schema.ts';
import { podKind } from '../api/kinds/core/pod/kind.ts';
import type { Pod } from '../api/kinds/core/pod/schema.ts';
import { serviceKind } from '../api/kinds/core/service/kind.ts';
import type { Service } from '../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import { leaseKind } from '../api/kinds/coordination/lease/kind.ts';
import type { Lease } from '../api/kinds/coordination/lease/kind.ts';
import type { Kind } from '../api/kind.ts';
import type { ApiObject } from '../api/metadata.ts';
import type { Informer } from '../client/informer.ts';
import type { Informers } from '../client/informers.ts';
import { Selection } from './selection.ts';
import { trimNode, trimPod, trimPodOfWorkload, trimToMetadata } from './trim.ts';
import { namespaceIndex } from './workloads/dependents.ts';
import { controllerIndex } from './workloads/owner.ts';

/** The namespace of the Leases of nodes. */
export const nodeLeaseNamespace = 'kube-node-lease';

/** A cache of any kind. */
export type Cache = Pick<Informer<ApiObject>, 'run' | 'synced' | 'hasSynced'>;

const noIndex = (): readonly string[] => [];

/** The caches of all controllers, one per kind. */
export class Caches {
  readonly services: Informer<Service>;
  readonly pods: Informer<Pod, 'node' | 'controller' | 'namespace'>;
  readonly nodes: Informer<Node>;
  readonly slices: Informer<EndpointSlice, 'service'>;
  readonly endpoints: Informer<Endpoints>;
  /** The Leases that nodes renew. */
  readonly nodeLeases: Informer<Lease>;
  readonly selection = new Selection();
  /** Node name → node. */
  readonly nodesByName = new Map<string, Node>();
  readonly #informers: Informers;
  readonly #all: Map<Kind, Informer<ApiObject, string>>;

  /** `wholePods`: Pods keep the fields that controllers of workloads and the scheduler read, and nodes all fields. */
  constructor(informers: Informers, { wholePods }: { readonly wholePods: boolean }) {
    this.#informers = informers;
    this.services = informers.of(serviceKind);
    const indexes = {
      node: ({ spec }: Pod): readonly string[] => [spec.nodeName ?? ''],
      controller: wholePods ? controllerIndex : noIndex,
      namespace: wholePods ? namespaceIndex : noIndex,
    };
    this.pods = informers.of(podKind, { trim: wholePods ? trimPodOfWorkload : trimPod, indexes });
    this.nodes = informers.of(nodeKind, wholePods ? {} : { trim: trimNode });
    this.slices = informers.of(endpointSliceKind, { indexes: { service: indexByService } });
    this.endpoints = informers.of(endpointsKind);
    this.nodeLeases = informers.of(leaseKind, { namespace: nodeLeaseNamespace });
    const { services, pods, nodes, slices, endpoints } = this;
    // A cast to a common type: readers of any kind use only the metadata.
    this.#all = new Map<Kind, unknown>([
      [serviceKind, services],
      [podKind, pods],
      [nodeKind, nodes],
      [endpointSliceKind, slices],
      [endpointsKind, endpoints],
    ]) as Map<Kind, Informer<ApiObject, string>>;
    this.#updateDerivedData();
  }

  /** The cache of any kind, which contains at least the metadata. */
  of(kind: Kind): Informer<ApiObject, string> {
    let cache = this.#all.get(kind);
    if (cache === undefined) {
      cache = this.#informers.of<ApiObject, string>(kind, { metadataOnly: true, trim: trimToMetadata, indexes: {} });
      this.#all.set(kind, cache);
    }
    return cache;
  }

  /** Starts a cache unless it is running. */
  run(cache: Cache): void {
    this.#informers.start(cache);
  }

  /** Subscribes first, so that derived data is current when other handlers run. */
  #updateDerivedData(): void {
    const { selection, nodesByName } = this;
    const setService = (service: Service): void => selection.setService(service);
    this.services.subscribe({
      added: setService,
      updated: setService,
      deleted: (service) => selection.removeService(service),
    });
    this.pods.subscribe({
      added: (pod) => selection.setPod(pod),
      updated: (pod, old) => selection.setPod(pod, old),
      deleted: (pod) => selection.removePod(pod),
    });
    const setNode = (node: Node): void => void nodesByName.set(node.metadata.name ?? '', node);
    this.nodes.subscribe({
      added: setNode,
      updated: setNode,
      deleted: ({ metadata }) => void nodesByName.delete(metadata.name ?? ''),
    });
  }
}
