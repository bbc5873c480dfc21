import { serviceNameLabel } from '../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import type { Informer } from '../client/informer.ts';
import type { Key } from '../client/key.ts';

/** EndpointSlices that are found by their Service. */
export type ServiceSlices = Informer<EndpointSlice, 'service'>;

/** The Service that a slice belongs to; undefined: none. */
export function serviceOf({ metadata: { namespace, labels = {} } }: EndpointSlice): Key | undefined {
  const name = labels[serviceNameLabel];
  return name === undefined ? undefined : `${namespace}/${name}`;
}
