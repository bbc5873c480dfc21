import { endpointSliceKind } from '../api/kinds/discovery/endpointslice/kind.ts';
import { serviceNameLabel } from '../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import type { Client } from '../client/client.ts';
import type { InformerOptions } from '../client/informer.ts';
import { Informer } from '../client/informer.ts';
import type { Key } from '../client/key.ts';

/** EndpointSlices that are found by their Service. */
export type ServiceSlices = Informer<EndpointSlice, 'service'>;

/** The Service that a slice is of; undefined: none. */
export function serviceOf({ metadata: { namespace, labels = {} } }: EndpointSlice): Key | undefined {
  const name = labels[serviceNameLabel];
  return name === undefined ? undefined : `${namespace}/${name}`;
}

/** Follows slices once it runs. */
export const serviceSlices = (client: Client, options: InformerOptions<EndpointSlice> = {}): ServiceSlices =>
  new Informer<EndpointSlice, 'service'>(client, endpointSliceKind, {
    ...options,
    indexes: { service: (slice) => [serviceOf(slice)].filter((key) => key !== undefined) },
  });
