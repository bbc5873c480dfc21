// Records of a Service: its addresses and ports, or its alias. Those of its endpoints are in slices.ts.
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { isExternalName, isHeadless } from '../../api/kinds/core/service/facts.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Name, RecordSet } from '../../dnswire/data.ts';
import { addressSets, canonical, reverseName } from './addresses.ts';
import type { RecordOptions } from './options.ts';
import { fits, serviceName, ttlOf } from './options.ts';
import type { SourceSet } from './packed.ts';
import type { SrvLabels } from '../../api/kinds/core/service/srv-names.ts';
import { labelsOfPorts, srvRecord, srvSets } from './srv.ts';

/** How a Service is reached: through addresses of its own, through those of its endpoints, by another name, or not yet. */
export type Reach = 'vip' | 'headless' | 'alias' | 'none';

/** How a Service is reached. A Service is headless only if its cluster IP is `None` (schema 1.1.0, §2). */
export function reachOf(service: Service): Reach {
  if (isExternalName(service)) return 'alias';
  if (isHeadless(service)) return 'headless';
  return clusterIps(service.spec).length > 0 ? 'vip' : 'none';
}

function clusterIps({ clusterIP = '', clusterIPs = [clusterIP] }: Service['spec']): readonly string[] {
  return clusterIPs.flatMap((address) => canonical(address) ?? []);
}

/** The labels of a Service's ports; undefined where `srvServiceName` is not heeded. */
export const srvLabelsOf = ({ metadata, spec }: Service, options: RecordOptions): SrvLabels | undefined =>
  options.srvServiceNames === false ? undefined : labelsOfPorts(spec.ports ?? [], metadata.annotations);

/** The name of a Service in the cluster's zone. */
export const nameOfService = ({ metadata }: Service, { clusterDomain }: RecordOptions): Name =>
  serviceName(metadata.name ?? '', metadata.namespace ?? '', clusterDomain);

export interface ServiceSource {
  readonly service: Service;
  /** All its slices; only whether they hold a ready endpoint matters. */
  readonly slices: readonly EndpointSlice[];
  readonly options: RecordOptions;
}

/** The records that a Service makes by itself. */
export function serviceRecords(source: ServiceSource): readonly SourceSet[] {
  const { service, options } = source;
  switch (reachOf(service)) {
    case 'alias':
      return aliasRecords(service, options);
    case 'vip':
      return isHidden(source) ? [] : vipRecords(service, options);
    case 'headless':
    case 'none':
      return [];
  }
}

const isHidden = ({ slices, options }: ServiceSource): boolean =>
  options.ignoreEmptyService === true &&
  options.noEndpoints !== true &&
  !slices.some(({ endpoints }) => (endpoints ?? []).some(isReady));

function vipRecords(service: Service, options: RecordOptions): readonly SourceSet[] {
  const owner = nameOfService(service, options);
  const ttl = ttlOf(options, 'stable');
  const addresses = clusterIps(service.spec);
  const ports = (service.spec.ports ?? []).map((port) => ({ port, data: [srvRecord(port.port, owner)] }));
  return [
    ...addressSets(owner, ttl, addresses),
    ...srvSets(owner, ttl, { ports, labels: srvLabelsOf(service, options) }),
    ...addresses.map((address) => pointer(address, owner, ttl)),
  ];
}

/** The record that leads from an address back to a name. */
export const pointer = (address: string, target: Name, ttl: number): RecordSet => ({
  owner: reverseName(address),
  type: 'PTR',
  ttl,
  data: [{ type: 'PTR', target }],
});

/**
 * The alias of an ExternalName Service (EXT-1), which is all there is to it (EXT-3). An address is not a name to lead to,
 * and a name that fits into no message cannot be led to: such a Service has no records.
 */
function aliasRecords(service: Service, options: RecordOptions): readonly SourceSet[] {
  const { externalName = '' } = service.spec;
  const target = (externalName.endsWith('.') ? externalName.slice(0, -1) : externalName).toLowerCase();
  if (!fits(target) || canonical(target) !== undefined) return [];
  const ttl = ttlOf(options, 'volatile');
  return [{ owner: nameOfService(service, options), type: 'CNAME', ttl, data: [{ type: 'CNAME', target }] }];
}
