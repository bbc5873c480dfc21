// The address request of a Service. The annotations of MetalLB are supported too.
import { canonicalAddress } from '../../../api/addresses.ts';
import type { IpFamily, Service } from '../../../api/kinds/core/service/schema.ts';
import { byKey } from '../../../api/order.ts';
import type { OpenPort } from '../../clouds/resource.ts';

/** A request to the allocator. */
export interface AllocationRequest {
  readonly key: string;
  readonly families: readonly IpFamily[];
  /** The second family may be missing. */
  readonly isSecondOptional: boolean;
  /** Requested addresses in canonical form; invalid ones are kept as written. */
  readonly addresses: readonly string[];
  /** The requested pool; '' for any automatic one. */
  readonly pool: string;
  /** Services with the same key may share an address; '' disables sharing. */
  readonly sharingKey: string;
  /** With externalTrafficPolicy Local only Services with the same Pods can share, because nodes are selected per address. */
  readonly backendKey: string;
  readonly ports: readonly OpenPort[];
}

const domains = ['loadbalancer.fairlead.dev', 'metallb.io'];

export const allocationAnnotations = {
  addresses: `${domains[0]}/addresses`,
  pool: `${domains[0]}/pool`,
  sharingKey: `${domains[0]}/sharing-key`,
} as const;

const synonyms: Readonly<Record<keyof typeof allocationAnnotations, readonly string[]>> = {
  addresses: [allocationAnnotations.addresses, `${domains[1]}/loadBalancerIPs`],
  pool: [allocationAnnotations.pool, `${domains[1]}/address-pool`],
  sharingKey: [allocationAnnotations.sharingKey, `${domains[1]}/allow-shared-ip`],
};

/** The request of a Service. */
export function allocationRequestOf({ metadata, spec }: Service): AllocationRequest {
  const read = (setting: keyof typeof allocationAnnotations): string =>
    synonyms[setting].map((name) => metadata.annotations?.[name] ?? '').find((value) => value !== '') ?? '';
  const addresses = (read('addresses') || (spec.loadBalancerIP ?? '')).split(',').flatMap((text) => text.trim() || []);
  const { ipFamilies = [], ipFamilyPolicy, ports = [], externalTrafficPolicy, selector = {} } = spec;
  const isLocal = externalTrafficPolicy === 'Local';
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    families: ipFamilies.length === 0 ? ['IPv4'] : ipFamilies,
    isSecondOptional: ipFamilyPolicy === 'PreferDualStack',
    addresses: addresses.map((text) => canonicalAddress(text) ?? text),
    pool: read('pool'),
    sharingKey: read('sharingKey'),
    backendKey: isLocal ? JSON.stringify(Object.entries(selector).toSorted(byKey)) : '',
    ports: ports.map(({ port, protocol = 'TCP' }) => ({ port, protocol })),
  };
}
