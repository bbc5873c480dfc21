import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { RecordOptions } from './options.ts';
import { endpoint, headless, lines, service, slice } from './testing/records.ts';
import { serviceRecords } from './service.ts';
import { sliceRecords } from './slices.ts';
import { srvNamesAnnotation } from '../../api/kinds/core/service/srv-names.ts';

const base: RecordOptions = { clusterDomain: 'cluster.local' };
const web = 'web.default.svc.cluster.local';
const idm = 'idm.default.svc.cluster.local';

interface Row {
  readonly name: string;
  readonly service: Service;
  readonly slices?: readonly EndpointSlice[];
  readonly options?: Partial<RecordOptions>;
  /** `owner ttl type data`. */
  readonly want: readonly string[];
}

const recordLines = ({ service: object, slices = [], options = {} }: Row): readonly string[] => {
  const all = { ...base, ...options };
  return lines([
    ...serviceRecords({ service: object, slices, options: all }),
    ...slices.flatMap((each) => sliceRecords({ service: object, slice: each, options: all })),
  ]);
};

const run = (rows: readonly Row[]): void => {
  for (const row of rows) it(row.name, () => assert.deepEqual(recordLines(row), row.want.toSorted()));
};

describe('a Service with a cluster IP', () => {
  const own = [
    `${web} 30 A 10.96.0.1`,
    `${web} 30 SRV 0 100 80 ${web}.`,
    `_http._tcp.${web} 30 SRV 0 100 80 ${web}.`,
    `1.0.96.10.in-addr.arpa 30 PTR ${web}.`,
  ];
  run([
    { name: 'has address, SRV and PTR records (rows 2, 3, 4)', service: service(), want: own },
    { name: 'of type NodePort has the same records', service: service({ type: 'NodePort' }), want: own },
    {
      name: 'of type LoadBalancer has the same records, without addresses of the load balancer',
      service: service({ type: 'LoadBalancer', externalIPs: ['192.0.2.1'] }),
      want: own,
    },
    {
      name: 'has records of both families',
      service: service({ clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1', 'FD00:96::0:1'] }),
      want: [
        ...own,
        `${web} 30 AAAA fd00:96::1`,
        `1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.6.9.0.0.0.0.d.f.ip6.arpa 30 PTR ${web}.`,
      ],
    },
    {
      name: 'has no SRV records for a port without a name',
      service: service({ ports: [{ port: 80 }] }),
      want: [`${web} 30 A 10.96.0.1`, `1.0.96.10.in-addr.arpa 30 PTR ${web}.`],
    },
    {
      name: 'NAME-7 accepts a name that begins with a digit',
      service: service({}, { name: '1svc' }),
      want: own.map((line) => line.replaceAll('web.default', '1svc.default')),
    },
    {
      name: 'SRV-11 ignores appProtocol',
      service: service({ ports: [{ name: 'http', port: 80, appProtocol: 'kubernetes.io/h2c' }] }),
      want: own,
    },
    {
      name: 'has no SRV record whose label would be too long',
      service: service({ ports: [{ name: 'p'.repeat(63), port: 80 }] }),
      want: [`${web} 30 A 10.96.0.1`, `${web} 30 SRV 0 100 80 ${web}.`, `1.0.96.10.in-addr.arpa 30 PTR ${web}.`],
    },
    {
      name: 'has no records without a cluster IP',
      service: service({ clusterIP: '' }),
      slices: [slice([endpoint('10.0.0.1')])],
      want: [],
    },
    {
      name: 'has names and PTR records of its endpoints (extension)',
      service: service(),
      slices: [slice([endpoint('10.0.0.1'), endpoint('10.0.0.2', { conditions: { ready: false } })])],
      want: [...own, `10-0-0-1.${web} 5 A 10.0.0.1`, `1.0.0.10.in-addr.arpa 5 PTR 10-0-0-1.${web}.`],
    },
    {
      name: 'uses --ttl for all records',
      service: service(),
      slices: [slice([endpoint('10.0.0.1')])],
      options: { ttl: 7 },
      want: [
        ...own.map((line) => line.replace(' 30 ', ' 7 ')),
        `10-0-0-1.${web} 7 A 10.0.0.1`,
        `1.0.0.10.in-addr.arpa 7 PTR 10-0-0-1.${web}.`,
      ],
    },
    {
      name: 'has no records without a ready endpoint with --ignore-empty-service',
      service: service(),
      slices: [slice([endpoint('10.0.0.1', { conditions: { ready: false } })])],
      options: { ignoreEmptyService: true },
      want: [],
    },
    {
      name: 'has records with a ready endpoint with --ignore-empty-service',
      service: service({ ports: [] }),
      slices: [slice([endpoint('10.0.0.1')])],
      options: { ignoreEmptyService: true },
      want: [
        `${web} 30 A 10.96.0.1`,
        `1.0.96.10.in-addr.arpa 30 PTR ${web}.`,
        `10-0-0-1.${web} 5 A 10.0.0.1`,
        `1.0.0.10.in-addr.arpa 5 PTR 10-0-0-1.${web}.`,
      ],
    },
    {
      name: 'has no names of endpoints with --no-endpoints',
      service: service(),
      slices: [slice([endpoint('10.0.0.1')])],
      options: { noEndpoints: true, ignoreEmptyService: true },
      want: own,
    },
  ]);
});

describe('a headless Service', () => {
  const one = [
    `${web} 5 A 10.0.0.1`,
    `${web} 5 SRV 0 100 8080 10-0-0-1.${web}.`,
    `_http._tcp.${web} 5 SRV 0 100 8080 10-0-0-1.${web}.`,
    `10-0-0-1.${web} 5 A 10.0.0.1`,
    `1.0.0.10.in-addr.arpa 5 PTR 10-0-0-1.${web}.`,
  ];
  const named = (line: string): string => line.replaceAll('10-0-0-1.', 'web-0.');
  run([
    { name: 'has no records without endpoints', service: headless(), slices: [slice([])], want: [] },
    {
      name: 'has the addresses of its endpoints, and SRV records with the port of the slice (rows 5 to 8)',
      service: headless(),
      slices: [slice([endpoint('10.0.0.1')])],
      want: one,
    },
    {
      name: 'treats an unset ready condition as ready',
      service: headless(),
      slices: [slice([endpoint('10.0.0.1', { conditions: {} })])],
      want: one,
    },
    {
      name: 'has no records if all endpoints are not ready or terminating',
      service: headless(),
      slices: [
        slice([
          endpoint('10.0.0.1', { conditions: { ready: false } }),
          endpoint('10.0.0.2', { conditions: { ready: false, serving: true, terminating: true } }),
        ]),
      ],
      want: [],
    },
    {
      name: 'names endpoints by their hostname',
      service: headless(),
      slices: [slice([endpoint('10.0.0.1', { hostname: 'web-0' })])],
      want: one.map(named),
    },
    {
      name: 'names endpoints by their Pod with --endpoint-pod-names',
      service: headless(),
      slices: [slice([endpoint('10.0.0.1', { targetRef: { kind: 'Pod', name: 'web-0' } })])],
      options: { endpointPodNames: true },
      want: one.map(named),
    },
    {
      name: 'names endpoints by address if the name of the Pod is not a label',
      service: headless(),
      slices: [slice([endpoint('10.0.0.1', { targetRef: { kind: 'Pod', name: 'web.0' } })])],
      options: { endpointPodNames: true },
      want: one,
    },
    {
      name: 'has one SRV record per name, also for two addresses',
      service: headless({ ports: [] }),
      slices: [slice([endpoint(['10.0.0.1', '10.0.0.2'], { hostname: 'web-0' })])],
      want: [
        ...one.map(named),
        `${web} 5 A 10.0.0.2`,
        `web-0.${web} 5 A 10.0.0.2`,
        `2.0.0.10.in-addr.arpa 5 PTR web-0.${web}.`,
      ],
    },
    {
      name: 'appends a zero to the label of an IPv6 address that ends in zeros',
      service: headless(),
      slices: [slice([endpoint('fd00:2::')], { ports: [] })],
      want: [
        `${web} 5 AAAA fd00:2::`,
        `fd00-2--0.${web} 5 AAAA fd00:2::`,
        `${'0.'.repeat(24)}2.0.0.0.0.0.d.f.ip6.arpa 5 PTR fd00-2--0.${web}.`,
      ],
    },
    {
      name: 'has no SRV records for a port without a number, and ignores FQDN slices',
      service: headless(),
      slices: [
        slice([endpoint('10.0.0.1')], { ports: [{ name: 'http' }] }),
        slice([endpoint('db.example.org')], { addressType: 'FQDN' }),
      ],
      want: one.filter((line) => !line.includes('SRV')),
    },
    {
      name: 'has no records with --no-endpoints',
      service: headless(),
      slices: [slice([endpoint('10.0.0.1')])],
      options: { noEndpoints: true },
      want: [],
    },
  ]);
});

describe('an ExternalName Service', () => {
  const alias = (externalName: string): Service =>
    service({ type: 'ExternalName', clusterIP: '', externalName, ports: [] });
  run([
    {
      name: 'EXT-1 EXT-3 has a CNAME record (row 9)',
      service: alias('db.example.org'),
      want: [`${web} 5 CNAME db.example.org.`],
    },
    { name: 'accepts a trailing dot', service: alias('DB.example.org.'), want: [`${web} 5 CNAME db.example.org.`] },
    { name: 'has no records if externalName is an address', service: alias('192.0.2.1'), want: [] },
    { name: 'has no records if externalName is too long', service: alias(`${'a'.repeat(64)}.org`), want: [] },
    {
      name: 'EXT-2 ignores its slices',
      service: alias('db.example.org'),
      slices: [slice([endpoint('10.0.0.1')])],
      want: [`${web} 5 CNAME db.example.org.`],
    },
  ]);
});

describe('srvServiceName', () => {
  const ports = [
    { name: 'kerberos-tcp', port: 88, protocol: 'TCP' as const, srvServiceName: 'kerberos' },
    { name: 'kerberos-udp', port: 88, protocol: 'UDP' as const, srvServiceName: 'kerberos' },
  ];
  const plain = ports.map(({ name, port, protocol }) => ({ name, port, protocol }));
  const around = [`${idm} 30 A 10.96.0.1`, `1.0.96.10.in-addr.arpa 30 PTR ${idm}.`];
  /** Both ports have the same target. */
  const bare = [`${idm} 30 SRV 0 100 88 ${idm}.`, `${idm} 30 SRV 0 100 88 ${idm}.`];
  const kerberos = [
    ...around,
    ...bare,
    `_kerberos._tcp.${idm} 30 SRV 0 100 88 ${idm}.`,
    `_kerberos._udp.${idm} 30 SRV 0 100 88 ${idm}.`,
  ];
  const reverted = [
    ...around,
    ...bare,
    `_kerberos-tcp._tcp.${idm} 30 SRV 0 100 88 ${idm}.`,
    `_kerberos-udp._udp.${idm} 30 SRV 0 100 88 ${idm}.`,
  ];
  const annotation = { [srvNamesAnnotation]: 'kerberos-tcp=kerberos, kerberos-udp=kerberos' };
  const headlessLines = ['tcp', 'udp'].flatMap((protocol) => [
    `_kerberos._${protocol}.${idm} 5 SRV 0 100 88 a.${idm}.`,
    `${idm} 5 SRV 0 100 88 a.${idm}.`,
  ]);
  const endpoints = [endpoint('10.0.0.1', { hostname: 'a' })];
  const aroundHeadless = [`${idm} 5 A 10.0.0.1`, `a.${idm} 5 A 10.0.0.1`, `1.0.0.10.in-addr.arpa 5 PTR a.${idm}.`];
  run([
    { name: 'SRV-6 two ports share one SRV name', service: service({ ports }, { name: 'idm' }), want: kerberos },
    { name: 'SRV-7 uses the port name if unset', service: service({ ports: plain }, { name: 'idm' }), want: reverted },
    {
      name: 'SRV-9 is ignored while the gate is off',
      service: service({ ports }, { name: 'idm' }),
      options: { srvServiceNames: false },
      want: reverted,
    },
    {
      name: 'SRV-13 the annotation has the same effect',
      service: service({ ports: plain }, { name: 'idm', annotations: annotation }),
      want: kerberos,
    },
    {
      name: 'ignores malformed elements of the annotation',
      service: service(
        { ports: plain },
        { name: 'idm', annotations: { [srvNamesAnnotation]: 'kerberos-tcp,kerberos-udp=Not_a_label,=x,a=b=c' } },
      ),
      want: reverted,
    },
    {
      name: 'prefers the field over the annotation',
      service: service({ ports }, { name: 'idm', annotations: { [srvNamesAnnotation]: 'kerberos-tcp=other' } }),
      want: kerberos,
    },
    {
      name: 'SRV-6 headless: uses the copy in the slice',
      service: headless({ ports }, { name: 'idm' }),
      slices: [slice(endpoints, { ports })],
      want: [...aroundHeadless, ...headlessLines],
    },
    {
      name: 'headless: uses the field of the Service if the slice has no copy',
      service: headless({ ports }, { name: 'idm' }),
      slices: [slice(endpoints, { ports: plain })],
      want: [...aroundHeadless, ...headlessLines],
    },
    {
      name: 'headless: uses the annotation',
      service: headless({ ports: plain }, { name: 'idm', annotations: annotation }),
      slices: [slice(endpoints, { ports: plain })],
      want: [...aroundHeadless, ...headlessLines],
    },
    {
      name: 'a port without a name has an SRV record by the field, and none at the bare name',
      service: service({ ports: [{ port: 5060, protocol: 'UDP', srvServiceName: 'sip' }] }, { name: 'idm' }),
      want: [...around, `_sip._udp.${idm} 30 SRV 0 100 5060 ${idm}.`],
    },
    {
      name: 'equal labels of one protocol share an RRset',
      service: service(
        {
          ports: [
            { name: 'a', port: 5060, srvServiceName: 'sip' },
            { name: 'sip', port: 5061 },
          ],
        },
        { name: 'idm' },
      ),
      want: [
        ...around,
        `_sip._tcp.${idm} 30 SRV 0 100 5060 ${idm}.`,
        `_sip._tcp.${idm} 30 SRV 0 100 5061 ${idm}.`,
        `${idm} 30 SRV 0 100 5060 ${idm}.`,
        `${idm} 30 SRV 0 100 5061 ${idm}.`,
      ],
    },
  ]);
});
