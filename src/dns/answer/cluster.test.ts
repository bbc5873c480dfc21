// Random clusters: answers for random Services and slices must equal those of the specification's catalogue, which this file
// implements a second time, as plainly as possible.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { apexRecords, zoneOptions, namespaceRecords } from '../records/apex.ts';
import { endpoint, headless, putService, service, slice } from '../records/testing/records.ts';
import { Zones } from '../records/zones.ts';
import { slowPath } from './slow-path.ts';
import type { Plain, Served } from './testing/model.ts';
import { model, contentOf, sorted } from './testing/model.ts';
import { queryBytes } from './testing/sample.ts';

const zone = 'cluster.local';
const options = { clusterDomain: zone, reverseCidrs: ['10.0.0.0/8'] };

interface Port {
  readonly name: string;
  readonly srvServiceName?: string;
  readonly protocol: 'TCP' | 'UDP';
  readonly port: number;
  readonly targetPort: number;
}

interface Host {
  readonly address: string;
  readonly hostname?: string;
  readonly isReady: boolean;
}

/** A Service in the model. */
interface Sample {
  readonly name: string;
  readonly kind: 'vip' | 'headless' | 'alias';
  readonly ip: string;
  readonly target: string;
  readonly ports: readonly Port[];
  readonly hosts: readonly Host[];
}

const port: fc.Arbitrary<Port> = fc
  .record({
    name: fc.constantFrom('http', 'sip', 'kerberos-tcp', 'kerberos-udp'),
    srvServiceName: fc.constantFrom(undefined, undefined, 'kerberos'),
    protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
    port: fc.constantFrom(80, 88, 5060),
    targetPort: fc.constantFrom(8080, 8088),
  })
  .map(({ srvServiceName, ...rest }) => (srvServiceName === undefined ? rest : { ...rest, srvServiceName }));

const host: fc.Arbitrary<Host> = fc
  .record({
    address: fc.integer({ min: 1, max: 5 }).map((last) => `10.1.0.${last}`),
    hostname: fc.constantFrom(undefined, 'h-0', 'h-1'),
    isReady: fc.boolean(),
  })
  .map(({ hostname, ...rest }) => (hostname === undefined ? rest : { ...rest, hostname }));

const names = ['web', 'db', '7up', 'gone'];

const sample: fc.Arbitrary<Sample> = fc.record({
  name: fc.constantFrom(...names.slice(0, 3)),
  kind: fc.constantFrom('vip' as const, 'headless' as const, 'alias' as const),
  ip: fc.integer({ min: 1, max: 9 }).map((last) => `10.96.0.${last}`),
  target: fc.constantFrom('example.org', ...names.map((name) => `${name}.default.svc.${zone}`)),
  ports: fc.uniqueArray(port, { selector: ({ name }) => name, maxLength: 3 }),
  hosts: fc.uniqueArray(host, { selector: ({ address }) => address, maxLength: 4 }),
});

const cluster = fc.uniqueArray(sample, { selector: ({ name }) => name, maxLength: 3 });

// The objects.
function objectsOf(each: Sample): { readonly service: Service; readonly slices: readonly EndpointSlice[] } {
  const metadata = { name: each.name };
  const ports = each.ports.map((of) => ({ ...of }));
  const made = {
    vip: () => service({ ports, clusterIP: each.ip, clusterIPs: [each.ip] }, metadata),
    headless: () => headless({ ports }, metadata),
    alias: () => service({ type: 'ExternalName', externalName: each.target, ports }, metadata),
  }[each.kind]();
  const endpoints = each.hosts.map(({ address, hostname, isReady }) =>
    endpoint(address, { conditions: { ready: isReady }, ...(hostname === undefined ? {} : { hostname }) }),
  );
  const slicePorts = each.ports.map(({ targetPort, ...of }) => ({ ...of, port: targetPort }));
  const labels = { 'kubernetes.io/service-name': each.name };
  const sliceMetadata = { name: `${each.name}-1`, namespace: 'default', labels };
  const settings = { ports: slicePorts, addressType: 'IPv4' as const, metadata: sliceMetadata };
  return { service: made, slices: each.kind === 'alias' ? [] : [slice(endpoints, settings)] };
}

function zonesOf(all: readonly Sample[]): Zones {
  const zones = new Zones(zoneOptions(options), { now: () => 1_700_000_000_000 });
  zones.put('zone', apexRecords(options, ['10.96.0.53']));
  zones.put('Namespace/default', namespaceRecords('default', options));
  for (const each of all) {
    const { service: object, slices } = objectsOf(each);
    putService(zones, object, { slices, options });
  }
  return zones;
}

// The catalogue.
const reverse = (address: string): string => `${address.split('.').toReversed().join('.')}.in-addr.arpa`;

function catalogue(all: readonly Sample[]): readonly Plain[] {
  const records: Plain[] = [
    { owner: zone, type: 'NS', data: `ns.dns.${zone}` },
    { owner: '10.in-addr.arpa', type: 'NS', data: `ns.dns.${zone}` },
    { owner: `ns.dns.${zone}`, type: 'A', data: '10.96.0.53' },
    { owner: `dns-version.${zone}`, type: 'TXT', data: '1.1.0' },
    { owner: `default.svc.${zone}`, type: '', data: '' },
    { owner: `pod.${zone}`, type: '', data: '' },
  ];
  for (const each of all) records.push(...recordsOf(each));
  const seen = new Map(records.map((record) => [`${record.owner} ${record.type} ${record.data}`, record]));
  return [...seen.values()];
}

function* recordsOf({ name, kind, ip, target, ports, hosts }: Sample): Iterable<Plain> {
  const owner = `${name}.default.svc.${zone}`;
  if (kind === 'alias') {
    yield { owner, type: 'CNAME', data: target };
    return;
  }
  const srvOwners = (of: Port): readonly string[] => [
    `_${of.srvServiceName ?? of.name}._${of.protocol.toLowerCase()}.${owner}`,
    owner,
  ];
  if (kind === 'vip') {
    yield { owner, type: 'A', data: ip };
    yield { owner: reverse(ip), type: 'PTR', data: owner };
    for (const of of ports)
      for (const at of srvOwners(of)) yield { owner: at, type: 'SRV', data: `0 100 ${of.port} ${owner}` };
  }
  for (const { address, hostname, isReady } of hosts) {
    if (!isReady) continue;
    const hostName = `${hostname ?? address.replaceAll('.', '-')}.${owner}`;
    yield { owner: hostName, type: 'A', data: address };
    yield { owner: reverse(address), type: 'PTR', data: hostName };
    if (kind === 'vip') continue;
    yield { owner, type: 'A', data: address };
    for (const of of ports) {
      for (const at of srvOwners(of)) yield { owner: at, type: 'SRV', data: `0 100 ${of.targetPort} ${hostName}` };
    }
  }
}

// The queries: names that may exist.
const front = fc.constantFrom(
  '', 'h-0.', 'h-1.', '10-1-0-1.', '10-1-0-2.', '_tcp.', '_udp.', '_http._tcp.', '_sip._udp.', '_kerberos._tcp.', '_kerberos._udp.', '_kerberos-tcp._tcp.', '*.', 'x.y.',
); // prettier-ignore
const queryName = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(front, fc.constantFrom(...names))
      .map(([before, name]) => `${before}${name}.default.svc.${zone}`),
  },
  { weight: 2, arbitrary: fc.constantFrom('10.96.0.1', '10.96.0.2', '10.1.0.1', '10.1.0.2', '10.1.0.3').map(reverse) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      zone,
      `svc.${zone}`,
      `default.svc.${zone}`,
      `other.svc.${zone}`,
      `pod.${zone}`,
      `dns-version.${zone}`,
      '1.10.in-addr.arpa',
      'example.org',
    ),
  },
);
const type = fc.constantFrom('A', 'AAAA', 'SRV', 'PTR', 'TXT', 'CNAME', 'NS', 'HTTPS');
const question = fc.tuple(queryName, type).map(([name, of]) => ({ name, type: of }));

test('SRV-6 SRV-7 NAME-7 EXT-1 every answer of a random cluster equals that of the catalogue', async () => {
  await fc.assert(
    fc.asyncProperty(cluster, fc.array(question, { minLength: 5, maxLength: 20 }), async (all, questions) => {
      const path = slowPath({ zones: zonesOf(all) });
      const served: Served = { apexes: [zone, '10.in-addr.arpa'], records: catalogue(all) };
      for (const { name, type: of } of questions) {
        const [bytes = new Uint8Array()] = await path(queryBytes(name, of), {
          address: '10.1.0.9',
          port: 1,
          protocol: 'tcp',
        });
        assert.deepEqual(sorted(contentOf(bytes)), sorted(model(served, name, of)), `${name} ${of}`);
      }
    }),
    { numRuns: 300 },
  );
});
