// Records of any kind that can occur, from so few clusters, ports and settings that they often disagree.
import fc from 'fast-check';
import type { ServicePort, ServiceSpec } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ClusterExport } from '../record.ts';
import { serviceExport, endpoint, headless, superclusterExport, service, sourceSlice, web } from './records.ts';

const port: fc.Arbitrary<ServicePort> = fc.record({
  name: fc.constantFrom('', 'http', 'admin'),
  port: fc.constantFrom(80, 8080),
  protocol: fc.constantFrom('TCP', 'UDP'),
});

/** Ports as one valid Service has them. */
const ports = fc
  .uniqueArray(port, { minLength: 1, maxLength: 3, selector: ({ name }) => name })
  .map((all) => all.filter((each, index) => all.findIndex((other) => isSameNumber(each, other)) === index))
  .map((all) => (all.length > 1 ? all.filter(({ name }) => name !== '') : all));

const isSameNumber = (left: ServicePort, right: ServicePort): boolean =>
  left.port === right.port && left.protocol === right.protocol;

const spec: fc.Arbitrary<Partial<ServiceSpec>> = fc
  .record({
    ports,
    isHeadless: fc.boolean(),
    isExternal: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
    ipFamilies: fc.constantFrom(['IPv4'] as const, ['IPv6'] as const, ['IPv4', 'IPv6'] as const),
    sessionAffinity: fc.constantFrom('None' as const, 'ClientIP' as const),
    publishNotReadyAddresses: fc.boolean(),
  })
  .map(({ isHeadless, isExternal, ...rest }) => ({
    ...rest,
    ...(isHeadless ? headless : {}),
    ...(isExternal ? { type: 'ExternalName' as const } : {}),
  }));

const address = fc.integer({ min: 1, max: 250 }).map((number) => `10.0.0.${number}`);

const slice: fc.Arbitrary<EndpointSlice> = fc
  .record({
    name: fc.constantFrom('web-a', 'web-b', 'web-c'),
    addresses: fc.uniqueArray(address, { maxLength: 4 }),
    ready: fc.boolean(),
    names: fc.uniqueArray(fc.constantFrom('', 'http', 'admin'), { minLength: 1 }),
  })
  .map(({ name, addresses, ready, names }) =>
    sourceSlice(name, {
      endpoints: addresses.map((each) => endpoint(each, { conditions: { ready } })),
      ports: names.map((portName) => ({ name: portName, protocol: 'TCP', port: 8080 })),
    }),
  );

/** The export of any cluster. */
export const anyRecord: fc.Arbitrary<ClusterExport> = fc
  .record({
    cluster: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    apis: fc.constantFrom('supercluster', 'clusterset', 'both'),
    day: fc.integer({ min: 1, max: 3 }),
    isLeaving: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
    spec: fc.option(spec, { nil: undefined, freq: 9 }),
    slices: fc.uniqueArray(slice, { maxLength: 3, selector: ({ metadata }) => metadata.name }),
  })
  .map(({ cluster, apis, day, isLeaving, spec: given, slices }) => {
    const metadata = {
      creationTimestamp: `2026-01-0${day}T00:00:00Z`,
      ...(isLeaving ? { deletionTimestamp: '2026-02-01T00:00:00Z' } : {}),
    };
    return {
      cluster,
      ...web,
      superclusterExport: apis === 'clusterset' ? undefined : superclusterExport(metadata),
      serviceExport: apis === 'supercluster' ? undefined : serviceExport(metadata),
      service: given && service(given),
      slices,
    };
  });

/** The exports of one service by the clusters of a set. */
export const anyRecords = fc.uniqueArray(anyRecord, { maxLength: 5, selector: ({ cluster }) => cluster });

/** Records in another order, some of them twice. */
export const shuffledWithDuplicates = (records: readonly ClusterExport[]): fc.Arbitrary<ClusterExport[]> =>
  fc
    .array(fc.constantFrom(...records), { maxLength: records.length === 0 ? 0 : 5 })
    .chain((more) => fc.shuffledSubarray([...records, ...more], { minLength: records.length + more.length }));
