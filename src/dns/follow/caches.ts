import { sliceOwners } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Lister } from '../../client/object-cache.ts';

/** The objects that records are made from. A kind that is not followed has none. */
export interface Caches {
  readonly namespaces: Lister<Namespace>;
  readonly services: Lister<Service, 'namespace'>;
  readonly slices: Lister<EndpointSlice, 'namespace' | 'owner'>;
  readonly pods: Lister<Pod, 'namespace'>;
  readonly imports: Lister<ServiceImport, 'namespace'>;
  readonly importedServices: Lister<ImportedService, 'namespace'>;
}

/** The text under which slices are found by what they belong to; also the name of that source of records. */
export const sourceOf = (kind: string, key: string): string => `${kind}/${key}`;

/** Finds objects by their namespace. */
export const byNamespace = {
  namespace: ({ metadata: { namespace } }: ApiObject): readonly string[] =>
    namespace === undefined ? [] : [namespace],
};

/** Finds slices by their namespace, and by what they belong to. */
export const sliceIndexes = {
  ...byNamespace,
  owner: (slice: EndpointSlice): readonly string[] => sliceOwners(slice).map(({ kind, key }) => sourceOf(kind, key)),
};

/** A kind that is not followed. */
export const nothing: Lister<never, 'namespace' | 'owner'> = {
  get: () => undefined,
  list: () => [],
  by: () => [],
};
