import { internalError, invalid } from '../../api/errors.ts';
import { invalidValue } from '../../api/field-errors.ts';
import { keepsPreference } from '../../api/kinds/core/service/families.ts';
import type { IpFamily, Service } from '../../api/kinds/core/service/schema.ts';
import type { AddressOperation } from './operation.ts';

/** The Service with a cluster IP for each of its families; those it names are claimed, the others chosen. */
export function allocateClusterIps(service: Service, addresses: AddressOperation): Service {
  const { type, clusterIPs = [], ipFamilies = [] } = service.spec;
  if (type === 'ExternalName' || clusterIPs[0] === 'None') return service;
  // Failures show the list as far as it is known, with empty texts for the addresses still to be chosen.
  const wanted = ipFamilies.map((_, index) => clusterIPs[index] ?? '');
  const given = wanted.map((ip, index) =>
    obtain({ service, wanted, ip, family: ipFamilies[index] ?? 'IPv4', addresses }),
  );
  return { ...service, spec: { ...service.spec, clusterIP: given[0] ?? '', clusterIPs: given } };
}

/** The changed Service with the addresses it gains; those it loses are released. The primary one never changes. */
export function updateClusterIps(service: Service, old: Service, addresses: AddressOperation): Service {
  if (keepsPreference(service, old)) return service;
  const { type, clusterIPs = [], ipFamilies = [] } = service.spec;
  const { type: oldType, clusterIPs: oldIPs = [], ipFamilies: oldFamilies = [] } = old.spec;
  if (oldType === 'ExternalName') return allocateClusterIps(service, addresses);
  if (oldIPs[0] === 'None' || clusterIPs[0] === 'None') return service; // what is wrong here, validation tells
  if (type === 'ExternalName') {
    for (const ip of oldIPs) addresses.releaseAddress(ip);
    return service;
  }
  const secondary = ipFamilies[1];
  if (oldFamilies.length === 1 && secondary !== undefined) {
    const wanted = [clusterIPs[0] ?? '', clusterIPs[1] ?? ''];
    const ip = obtain({ service, wanted, ip: clusterIPs[1] ?? '', family: secondary, addresses });
    return { ...service, spec: { ...service.spec, clusterIPs: [clusterIPs[0] ?? '', ip] } };
  }
  if (oldFamilies.length === 2 && ipFamilies.length === 1 && oldIPs[1] !== undefined) {
    addresses.releaseAddress(oldIPs[1]);
  }
  return service;
}

/** Gives up all cluster IPs of a Service that is going. */
export function releaseClusterIps({ spec }: Service, addresses: AddressOperation): void {
  if (spec.type === 'ExternalName' || spec.clusterIPs === undefined || spec.clusterIPs[0] === 'None') return;
  for (const ip of spec.clusterIPs) addresses.releaseAddress(ip);
}

interface Wish {
  readonly service: Service;
  /** All cluster IPs of the Service as far as they are known. */
  readonly wanted: readonly string[];
  /** The one to get now; empty: any. */
  readonly ip: string;
  readonly family: IpFamily;
  readonly addresses: AddressOperation;
}

function obtain({ service, wanted, ip, family, addresses }: Wish): string {
  if (ip !== '') {
    addresses.claimAddress(ip, (problem) =>
      invalid({ group: '', resource: 'Service', name: service.metadata.name ?? '' }, [
        invalidValue('spec.clusterIPs', wanted, `failed to allocate IP ${ip}: ${problem}`),
      ]),
    );
    return ip;
  }
  const taken = addresses.takeAddress(family);
  if (taken === undefined) throw internalError('failed to allocate a serviceIP: range is full');
  return taken;
}
