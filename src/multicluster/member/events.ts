import { importKeysOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceExport } from '../../api/kinds/multicluster/serviceexport/schema.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { SuperclusterExport } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { derivedFromAnnotation } from '../../api/kinds/multicluster/labels.ts';
import type { Handler } from '../../client/informer.ts';
import type { Key } from '../../client/key.ts';
import { keyOf } from '../../client/key.ts';
import type { MemberCaches } from './caches.ts';
import { sourceOf } from './caches.ts';
import type { Unseen } from './unseen.ts';

/** Told of what changes in a member. */
export interface MemberListener {
  /** What the member exports under this name has changed: all members are concerned. */
  source(key: Key): void;
  /** What the member holds of this service has changed: it alone is concerned. */
  target(key: Key): void;
  /** A namespace came or is going: all its services are concerned, in this member. */
  namespace(name: string): void;
  /** Whether it answers, whether it has been read, or where it has addresses, may have changed. */
  state(): void;
}

/** What was written to a member and has not come back, of each kind that is written. */
export interface UnseenWrites {
  readonly seedExports: Unseen<SuperclusterExport>;
  readonly currentExports: Unseen<ServiceExport>;
  readonly importedServices: Unseen<ImportedService>;
  readonly serviceImports: Unseen<ServiceImport>;
  readonly services: Unseen<Service>;
  readonly slices: Unseen<EndpointSlice>;
}

/**
 * Maps every change of a member to the services that it concerns. What is not exported concerns none, and neither does
 * what was written by ourselves.
 */
export function followMember(
  caches: MemberCaches,
  unseen: UnseenWrites,
  listener: MemberListener,
  isExported: (key: Key) => boolean,
): void {
  const exported = all((object) => listener.source(keyOf(object)));
  unseen.seedExports.follow(caches.seedExports, exported);
  unseen.currentExports.follow(caches.currentExports, exported);
  const imported = all((object) => listener.target(keyOf(object)));
  unseen.importedServices.follow(caches.importedServices, imported);
  unseen.serviceImports.follow(caches.serviceImports, imported);
  const service = (object: Service): void => {
    const key = keyOf(object);
    if (isExported(key)) listener.source(key);
    const derivedFrom = object.metadata.annotations?.[derivedFromAnnotation];
    if (derivedFrom !== undefined) listener.target(derivedFrom);
  };
  unseen.services.follow(caches.services, {
    added: service,
    updated(object, old) {
      service(object);
      if (old.metadata.annotations?.[derivedFromAnnotation] !== undefined) service(old);
    },
    deleted: service,
  });
  const slices = (...each: readonly EndpointSlice[]): void => {
    for (const key of new Set(each.flatMap(sourceOf))) if (isExported(key)) listener.source(key);
    for (const key of new Set(each.flatMap(importKeysOf))) listener.target(key);
  };
  unseen.slices.follow(caches.slices, { added: slices, updated: slices, deleted: slices });
  const ranges = (): void => listener.state();
  caches.serviceCidrs.subscribe({ added: ranges, updated: ranges, deleted: ranges });
  caches.namespaces.subscribe({
    added: ({ metadata }) => listener.namespace(metadata.name ?? ''),
    updated({ metadata }, old) {
      if (metadata.deletionTimestamp !== old.metadata.deletionTimestamp) listener.namespace(metadata.name ?? '');
    },
    deleted: ({ metadata }) => listener.namespace(metadata.name ?? ''),
  });
}

/** Does the same whatever happens to an object. */
const all = (tell: (object: ApiObject) => void): Required<Handler<ApiObject>> => ({
  added: (object) => tell(object),
  updated: (object) => tell(object),
  deleted: (object) => tell(object),
});
