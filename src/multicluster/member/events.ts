import { isDeepStrictEqual } from 'node:util';
import { importKeysOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceExport } from '../../api/kinds/multicluster/serviceexport/schema.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { SuperclusterExport } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import { derivedFromAnnotation } from '../../api/kinds/multicluster/labels.ts';
import { gatewayReplicas, gatewayService } from '../../api/kinds/multicluster/gateway.ts';
import { addressesOfNode } from '../guard/advertise.ts';
import { onAnyChange, onKeyChange } from '../../client/handlers.ts';
import type { Key } from '../../client/key.ts';
import { keyFor, keyOf } from '../../client/key.ts';
import type { MemberCaches } from './caches.ts';
import { sourceOf } from './caches.ts';
import type { MutationCache } from './mutation-cache.ts';

/** Receives the changes of a member. */
export interface MemberListener {
  /** The member's export of this service has changed, which affects all members. */
  source(key: Key): void;
  /** What the member holds of this service has changed, which affects this member. */
  target(key: Key): void;
  /** The replicas of the member's gateway have changed, which affects what it imports, and others what it exports. */
  gateways(): void;
  /** A namespace was created or deleted, which affects all its services in this member. */
  namespace(name: string): void;
  /** The state of the probe, the caches or the address ranges may have changed. */
  state(): void;
}

/** A mutation cache for each kind that is written. */
export interface MutationCaches {
  readonly superclusterExports: MutationCache<SuperclusterExport>;
  readonly serviceExports: MutationCache<ServiceExport>;
  readonly importedServices: MutationCache<ImportedService>;
  readonly serviceImports: MutationCache<ServiceImport>;
  readonly services: MutationCache<Service>;
  readonly slices: MutationCache<EndpointSlice>;
}

const gatewayKey = keyFor(gatewayService);

const replicasIn = (slice: EndpointSlice, old: EndpointSlice): [unknown, unknown] => [
  gatewayReplicas([slice]),
  gatewayReplicas([old]),
];

/** Maps the events of a member to services. Events of Services that are not exported and of own writes are ignored. */
export function subscribeTo(
  caches: MemberCaches,
  mutations: MutationCaches,
  listener: MemberListener,
  isExported: (key: Key) => boolean,
): void {
  const exported = onKeyChange((key) => listener.source(key));
  mutations.superclusterExports.follow(caches.superclusterExports, exported);
  mutations.serviceExports.follow(caches.serviceExports, exported);
  const imported = onKeyChange((key) => listener.target(key));
  mutations.importedServices.follow(caches.importedServices, imported);
  mutations.serviceImports.follow(caches.serviceImports, imported);
  const service = (object: Service): void => {
    const key = keyOf(object);
    if (isExported(key)) listener.source(key);
    if (key === gatewayKey) listener.gateways();
    const derivedFrom = object.metadata.annotations?.[derivedFromAnnotation];
    if (derivedFrom !== undefined) listener.target(derivedFrom);
  };
  mutations.services.follow(caches.services, {
    added: service,
    updated(object, old) {
      service(object);
      if (old.metadata.annotations?.[derivedFromAnnotation] !== undefined) service(old);
    },
    deleted: service,
  });
  const slices = (slice: EndpointSlice, old = slice): void => {
    const both = [slice, old];
    if (sourceOf(slice).includes(gatewayKey) && (slice === old || !isDeepStrictEqual(...replicasIn(slice, old))))
      listener.gateways();
    for (const key of new Set(both.flatMap(sourceOf))) if (isExported(key)) listener.source(key);
    for (const key of new Set(both.flatMap(importKeysOf))) listener.target(key);
  };
  mutations.slices.follow(caches.slices, onAnyChange(slices));
  caches.nodes.subscribe(
    onAnyChange((node, old) => {
      // Nodes change with every heartbeat.
      if (old !== undefined && isDeepStrictEqual(addressesOfNode(node), addressesOfNode(old))) return;
      for (const object of [...caches.superclusterExports.list(), ...caches.serviceExports.list()])
        listener.source(keyOf(object));
    }),
  );
  caches.serviceCidrs.subscribe(onAnyChange(() => listener.state()));
  caches.namespaces.subscribe({
    added: ({ metadata }) => listener.namespace(metadata.name ?? ''),
    updated({ metadata }, old) {
      if (metadata.deletionTimestamp !== old.metadata.deletionTimestamp) listener.namespace(metadata.name ?? '');
    },
    deleted: ({ metadata }) => listener.namespace(metadata.name ?? ''),
  });
}
