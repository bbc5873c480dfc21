import { isExternalName, isHeadless } from '../../api/kinds/core/service/facts.ts';
import { internalError, invalid } from '../../api/errors.ts';
import { invalidValue } from '../../api/field-errors.ts';
import { keepsPreference } from '../../api/kinds/core/service/families.ts';
import type { IpFamily, Service } from '../../api/kinds/core/service/schema.ts';
import type { AddressOperation } from './operation.ts';

/** Returns the Service with a cluster IP for each of its families: those it names and newly chosen ones. */
export function allocateClusterIps(service: Service, addresses: AddressOperation): Service {
  const { clusterIPs = [], ipFamilies = [] } = service.spec;
  if (isExternalName(service) || isHeadless(service)) return service;
  // Error messages print this list, with empty strings for addresses that are not chosen yet.
  const wanted = ipFamilies.map((_, index) => clusterIPs[index] ?? '');
  const given = wanted.map((ip, index) =>
    allocateOne({ service, wanted, ip, family: ipFamilies[index] ?? 'IPv4', addresses }),
  );
  return { ...service, spec: { ...service.spec, clusterIP: given[0] ?? '', clusterIPs: given } };
}

/** Returns the updated Service with added addresses, and releases removed ones. The primary address never changes. */
export function updateClusterIps(service: Service, old: Service, addresses: AddressOperation): Service {
  if (keepsPreference(service, old)) return service;
  const { clusterIPs = [], ipFamilies = [] } = service.spec;
  const { clusterIPs: oldIPs = [], ipFamilies: oldFamilies = [] } = old.spec;
  if (isExternalName(old)) return allocateClusterIps(service, addresses);
  if (isHeadless(old) || isHeadless(service)) return service; // validation rejects a change between the two
  if (isExternalName(service)) {
    for (const ip of oldIPs) addresses.releaseAddress(ip);
    return service;
  }
  const secondary = ipFamilies[1];
  if (oldFamilies.length === 1 && secondary !== undefined) {
    const wanted = [clusterIPs[0] ?? '', clusterIPs[1] ?? ''];
    const ip = allocateOne({ service, wanted, ip: clusterIPs[1] ?? '', family: secondary, addresses });
    return { ...service, spec: { ...service.spec, clusterIPs: [clusterIPs[0] ?? '', ip] } };
  }
  if (oldFamilies.length === 2 && ipFamilies.length === 1 && oldIPs[1] !== undefined) {
    addresses.releaseAddress(oldIPs[1]);
  }
  return service;
}

/** Releases all cluster IPs of a deleted Service. */
export function releaseClusterIps(service: Service, addresses: AddressOperation): void {
  if (isExternalName(service) || isHeadless(service)) return;
  for (const ip of service.spec.clusterIPs ?? []) addresses.releaseAddress(ip);
}

interface AllocationRequest {
  readonly service: Service;
  /** All cluster IPs of the Service; empty strings for those that are not chosen yet. */
  readonly wanted: readonly string[];
  /** The address to allocate; empty: any. */
  readonly ip: string;
  readonly family: IpFamily;
  readonly addresses: AddressOperation;
}

function allocateOne({ service, wanted, ip, family, addresses }: AllocationRequest): string {
  if (ip !== '') {
    addresses.allocateAddress(ip, (problem) =>
      invalid({ group: '', resource: 'Service', name: service.metadata.name ?? '' }, [
        invalidValue('spec.clusterIPs', wanted, `failed to allocate IP ${ip}: ${problem}`),
      ]),
    );
    return ip;
  }
  const taken = addresses.allocateNextAddress(family);
  if (taken === undefined) throw internalError('failed to allocate a serviceIP: range is full');
  return taken;
}
