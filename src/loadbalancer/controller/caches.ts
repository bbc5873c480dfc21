import { importKeysOf, indexByService } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Informer } from '../../client/informer.ts';
import type { Informers } from '../../client/informers.ts';

/** The caches of the service controller and the health checks. */
export interface Caches {
  readonly services: Informer<Service>;
  readonly nodes: Informer<Node>;
  /** Started only if needed, because there are many slices. */
  readonly slices: Informer<EndpointSlice, 'service' | 'import'>;
}

export const openCaches = (informers: Informers): Caches => ({
  services: informers.of(serviceKind),
  nodes: informers.of(nodeKind),
  slices: informers.of(endpointSliceKind, { indexes: { service: indexByService, import: importKeysOf } }),
});
