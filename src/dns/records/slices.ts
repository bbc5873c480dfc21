// Records of the slices of a Service: addresses if it is headless, names of endpoints, and PTR records.
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Name, RecordSet } from '../../dnswire/data.ts';
import { addressSets } from './addresses.ts';
import type { NamedAddress } from './endpoints.ts';
import { addressesByName, endpointSrvSets, namedAddresses } from './endpoints.ts';
import type { RecordOptions } from './options.ts';
import { ttlOf } from './options.ts';
import type { SourceSet } from './packed.ts';
import { nameOfService, pointer, reachOf, srvLabelsOf } from './service.ts';
import { zonalNames, zonalRecords } from './zonal.ts';

export interface SliceSource {
  readonly service: Service;
  readonly slice: EndpointSlice;
  readonly options: RecordOptions;
}

/** The records of one slice. All slices of a Service together hold all its endpoints. */
export function sliceRecords({ service, slice, options }: SliceSource): readonly SourceSet[] {
  const reach = reachOf(service);
  if (options.noEndpoints === true || (reach !== 'vip' && reach !== 'headless')) return [];
  const owner = nameOfService(service, options);
  const ttl = ttlOf(options, 'volatile');
  const addresses = namedAddresses(slice, owner, { options, publishes: isReady });
  const isHeadless = reach === 'headless';
  return [
    ...(isHeadless ? headlessRecords({ service, slice, options }, addresses) : []),
    ...addressesByName(addresses, ttl),
    ...addresses.flatMap(({ address, name, hasHostname }) =>
      name === undefined ? [] : { ...pointer(address, name, ttl), rank: pointerRank(isHeadless, hasHostname) },
    ),
  ];
}

/** Names below which records are built on demand. */
export function sliceDynamicNames({ service, slice, options }: SliceSource): readonly Name[] {
  if (options.zonal !== true || options.noEndpoints === true || reachOf(service) !== 'headless') return [];
  return (slice.endpoints ?? []).some(isReady) ? zonalNames(nameOfService(service, options)) : [];
}

/** PTR records: chosen host names before generated ones, headless Services before others. */
const pointerRank = (isHeadless: boolean, hasHostname: boolean): number => {
  if (isHeadless) return hasHostname ? 0 : 1;
  return 2;
};

function headlessRecords(
  { service, slice, options }: SliceSource,
  addresses: readonly NamedAddress[],
): readonly RecordSet[] {
  const owner = nameOfService(service, options);
  const ttl = ttlOf(options, 'volatile');
  return [
    ...addressSets(
      owner,
      ttl,
      addresses.map(({ address }) => address),
    ),
    ...endpointSrvSets(owner, ttl, { slice, addresses, labels: srvLabelsOf(service, options) }),
    ...(options.zonal === true ? zonalRecords(owner, ttl, addresses) : []),
  ];
}
