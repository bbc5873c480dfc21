// Records, members and slices for the tests of this part: a Service `shop/web` with port http 80.
import type { Service, ServicePort, ServiceSpec } from '../../api/kinds/core/service/schema.ts';
import { managedByLabel, serviceNameLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { Endpoint, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceExport } from '../../api/kinds/multicluster/serviceexport/schema.ts';
import type { SuperclusterExport } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { ObjectMeta } from '../../api/metadata.ts';
import type { ClusterExport, MemberFacts } from '../record.ts';

/** The default service of tests. */
export const web = { namespace: 'shop', name: 'web' };

export const http: ServicePort = { name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 };

/** A Service with an address. */
export const service = (spec: Partial<ServiceSpec> = {}, metadata: ObjectMeta = {}): Service => ({
  metadata: { ...web, uid: 'service-uid', resourceVersion: '10', ...metadata },
  spec: {
    type: 'ClusterIP',
    clusterIP: '10.96.0.1',
    clusterIPs: ['10.96.0.1'],
    ipFamilies: ['IPv4'],
    sessionAffinity: 'None',
    ports: [http],
    ...spec,
  },
  status: { loadBalancer: {} },
});

export const headless: Partial<ServiceSpec> = { clusterIP: 'None', clusterIPs: ['None'] };

export const endpoint = (address: string, rest: Partial<Endpoint> = {}): Endpoint => ({
  addresses: [address],
  conditions: { ready: true, serving: true, terminating: false },
  ...rest,
});

/** A slice as the source cluster has it. */
export const sourceSlice = (name: string, rest: Partial<EndpointSlice> = {}): EndpointSlice => ({
  metadata: {
    name,
    namespace: web.namespace,
    uid: `${name}-uid`,
    resourceVersion: '11',
    labels: { [serviceNameLabel]: web.name, [managedByLabel]: 'endpointslice-controller.k8s.io' },
  },
  addressType: 'IPv4',
  endpoints: [endpoint('10.0.0.1')],
  ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
  ...rest,
});

export const superclusterExport = (metadata: ObjectMeta = {}): SuperclusterExport => ({
  metadata: {
    ...web,
    uid: 'supercluster-uid',
    resourceVersion: '5',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...metadata,
  },
});

export const serviceExport = (metadata: ObjectMeta = {}, spec: ServiceExport['spec'] = {}): ServiceExport => ({
  metadata: {
    ...web,
    uid: 'clusterset-uid',
    resourceVersion: '5',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...metadata,
  },
  spec: spec ?? {},
});

export interface RecordSettings extends Partial<Omit<ClusterExport, 'cluster'>> {
  readonly spec?: Partial<ServiceSpec>;
  /** Day of January 2026 on which it was exported. */
  readonly day?: number;
}

/** The record of a cluster: exports of both APIs, the Service and one slice. */
export function record(cluster: string, { spec, day = 1, ...rest }: RecordSettings = {}): ClusterExport {
  const creationTimestamp = `2026-01-${String(day).padStart(2, '0')}T00:00:00Z`;
  return {
    cluster,
    ...web,
    superclusterExport: superclusterExport({ creationTimestamp }),
    serviceExport: serviceExport({ creationTimestamp }),
    service: service(spec),
    slices: [sourceSlice('web-abc')],
    ...rest,
  };
}

/** A member that has the namespace and serves both kinds. */
export const member = (id: string, rest: Partial<MemberFacts> = {}): MemberFacts => ({
  id,
  uid: `${id}-uid`,
  isSynced: true,
  isConnected: true,
  namespaces: new Set(['shop']),
  serves: { supercluster: true, clusterset: true },
  hasStockProxy: false,
  acceptsRelaxedNames: true,
  keepsSrvNames: true,
  ...rest,
});
