import { sliceOwners } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Lister } from '../../client/object-cache.ts';

/** The objects that records are built from. The cache of a kind that is not watched is empty. */
export interface Caches {
  readonly namespaces: Lister<Namespace>;
  readonly services: Lister<Service, 'namespace'>;
  readonly slices: Lister<EndpointSlice, 'namespace' | 'owner'>;
  readonly pods: Lister<Pod, 'namespace'>;
  readonly imports: Lister<ServiceImport, 'namespace'>;
  readonly importedServices: Lister<ImportedService, 'namespace'>;
}

/** The key of an object as a source of records, and of the owner index of slices. */
export const sourceOf = (kind: string, key: string): string => `${kind}/${key}`;

/** Index by namespace. */
export const byNamespace = {
  namespace: ({ metadata: { namespace } }: ApiObject): readonly string[] =>
    namespace === undefined ? [] : [namespace],
};

/** Indexes of slices: namespace, and owner as of `sourceOf`. */
export const sliceIndexes = {
  ...byNamespace,
  owner: (slice: EndpointSlice): readonly string[] => sliceOwners(slice).map(({ kind, key }) => sourceOf(kind, key)),
};

/** The cache of a kind that is not watched. */
export const emptyLister: Lister<never, 'namespace' | 'owner'> = {
  get: () => undefined,
  list: () => [],
  by: () => [],
};
