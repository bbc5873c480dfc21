import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ServiceSpec } from '../../api/kinds/core/service/schema.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { MergedPublication } from '../../api/kinds/multicluster/publication.ts';
import { printPublication, publicationAnnotation } from '../../api/kinds/multicluster/publication.ts';
import type { Claim, Surroundings } from './claim.ts';
import { claimOfImport } from './import-claim.ts';
import { claimOfService } from './service-claim.ts';
import { lines, node, service, slice } from './testing/objects.ts';

const nowhere: Surroundings = { slices: [], nodes: [], ttl: 60 };

const http = '_http._tcp.shop.example.org 60 SRV 0 100 80 shop.example.org.';
const kerberos: Partial<ServiceSpec> = {
  ports: [
    { name: 'tcp', port: 88, protocol: 'TCP', srvServiceName: 'kerberos' },
    { name: 'udp', port: 88, protocol: 'UDP', srvServiceName: 'kerberos' },
  ],
};
const nodePort: Partial<ServiceSpec> = {
  type: 'NodePort',
  ports: [{ name: 'http', port: 80, protocol: 'TCP', nodePort: 30_080 }],
};
const headless: Partial<ServiceSpec> = { type: 'ClusterIP', clusterIP: 'None', clusterIPs: ['None'] };
const nodes = [
  node('a', { InternalIP: '10.0.0.1', ExternalIP: '198.51.100.1' }),
  node('b', { InternalIP: '10.0.0.2' }),
  node('c', { InternalIP: '10.0.0.3', ExternalIP: '198.51.100.3' }, { unschedulable: true }),
  node('d', { InternalIP: '10.0.0.4', ExternalIP: '198.51.100.4' }, { isReady: false }),
];
const nodeSrv = '_http._tcp.shop.example.org 60 SRV 0 100 30080 shop.example.org.';

interface Row {
  readonly name: string;
  readonly given: Parameters<typeof service>;
  readonly around?: Partial<Surroundings>;
  /** undefined: the Service asks for nothing. */
  readonly want: readonly string[] | undefined;
  readonly refusals?: readonly string[];
}

const annotated = (annotations: Readonly<Record<string, string>>): Parameters<typeof service> => [{}, { annotations }];
const external = (prefix: string, rest: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries({ hostname: 'other.example.org', ...rest }).map(([key, value]) => [prefix + key, value]),
  );
const withoutOurs = { 'fairlead.dev/hostname': undefined as unknown as string };

function check(rows: readonly Row[]): void {
  for (const { name, given, around, want, refusals = [] } of rows) {
    test(name, () => {
      const claim = claimOfService(service(...given), { ...nowhere, ...around });
      assert.deepEqual(claim && lines(claim.sets), want?.toSorted());
      assert.deepEqual(reasons(claim), refusals);
    });
  }
}

const reasons = (claim: Claim | undefined): readonly string[] => (claim?.refusals ?? []).map(({ reason }) => reason);

describe('a LoadBalancer Service', () => {
  check([
    {
      name: 'SRV-10 has the addresses of its load balancer, and an SRV record for each named port',
      given: [{}, { ingress: [{ ip: '192.0.2.1' }, { ip: '2001:DB8::0:1' }] }],
      want: ['shop.example.org 60 A 192.0.2.1', 'shop.example.org 60 AAAA 2001:db8::1', http],
    },
    {
      name: 'SRV-10 has SRV records of one name for TCP and UDP by srvServiceName (KEP-3241)',
      given: [kerberos],
      want: [
        'shop.example.org 60 A 192.0.2.1',
        '_kerberos._tcp.shop.example.org 60 SRV 0 100 88 shop.example.org.',
        '_kerberos._udp.shop.example.org 60 SRV 0 100 88 shop.example.org.',
      ],
    },
    {
      name: 'SRV-10 has SRV names of the annotation for servers without the field',
      given: [{}, { annotations: { 'fairlead.dev/srv-service-names': 'http=www' } }],
      want: ['shop.example.org 60 A 192.0.2.1', http.replace('_http', '_www')],
    },
    {
      name: 'has no SRV record for a port without a name',
      given: [{ ports: [{ port: 80, protocol: 'TCP' }] }],
      want: ['shop.example.org 60 A 192.0.2.1'],
    },
    {
      name: 'is an alias of the host name of its load balancer, to which SRV records point directly',
      given: [{}, { ingress: [{ hostname: 'Edge.example.net' }] }],
      want: [
        'shop.example.org 60 CNAME edge.example.net.',
        '_http._tcp.shop.example.org 60 SRV 0 100 80 edge.example.net.',
      ],
    },
    {
      name: 'is the alias of the first of two host names, and reports the second',
      given: [{}, { ingress: [{ hostname: 'a.example.net' }, { hostname: 'b.example.net' }] }],
      want: [
        'shop.example.org 60 CNAME a.example.net.',
        '_http._tcp.shop.example.org 60 SRV 0 100 80 a.example.net. | 0 100 80 b.example.net.',
      ],
      refusals: ['ConflictingTargets'],
    },
    {
      name: 'has addresses and no alias if the load balancer has both',
      given: [{}, { ingress: [{ ip: '192.0.2.1', hostname: 'a.example.net' }] }],
      want: ['shop.example.org 60 A 192.0.2.1', http],
      refusals: ['ConflictingTargets'],
    },
    {
      name: 'SRV-10 leaves out ports that the load balancer could not open',
      given: [
        kerberos,
        {
          ingress: [
            {
              ip: '192.0.2.1',
              ports: [
                { port: 88, protocol: 'TCP' },
                { port: 88, protocol: 'UDP', error: 'ProtocolNotSupported' },
              ],
            },
          ],
        },
      ],
      want: ['shop.example.org 60 A 192.0.2.1', '_kerberos._tcp.shop.example.org 60 SRV 0 100 88 shop.example.org.'],
    },
    {
      name: 'leaves out ports that are not ready in the first form of the port status',
      given: [{}, { ingress: [{ ip: '192.0.2.1', portStatuses: [{ port: 80, protocol: 'TCP', ready: false }] }] }],
      want: ['shop.example.org 60 A 192.0.2.1'],
    },
    {
      name: 'keeps a port that one of two ingress points serves',
      given: [
        {},
        { ingress: [{ ip: '192.0.2.1', ports: [{ port: 80, protocol: 'TCP', error: 'Busy' }] }, { ip: '192.0.2.2' }] },
      ],
      want: ['shop.example.org 60 A 192.0.2.1 | 192.0.2.2', http],
    },
    {
      name: 'has nothing while its load balancer has no address',
      given: [{}, { ingress: [] }],
      want: [],
      refusals: ['Pending'],
    },
    {
      name: 'has external IPs instead of the addresses of its load balancer',
      given: [{ externalIPs: ['198.51.100.9'] }],
      want: ['shop.example.org 60 A 198.51.100.9', http],
    },
    {
      name: 'has its cluster IP at an internal host name',
      given: annotated({ 'fairlead.dev/internal-hostname': 'in.example.org' }),
      want: [
        'shop.example.org 60 A 192.0.2.1',
        http,
        'in.example.org 60 A 10.96.0.1',
        '_http._tcp.in.example.org 60 SRV 0 100 80 in.example.org.',
      ],
    },
  ]);
});

describe('annotations', () => {
  check([
    { name: 'a Service without a host name has no claim', given: annotated(withoutOurs), want: undefined },
    ...['external-dns.kubernetes.io/', 'external-dns.alpha.kubernetes.io/'].map((prefix) => ({
      name: `those of ExternalDNS are honoured under ${prefix}`,
      given: annotated({ ...withoutOurs, ...external(prefix, { ttl: '5m', target: '203.0.113.1,203.0.113.2' }) }),
      want: [
        'other.example.org 300 A 203.0.113.1 | 203.0.113.2',
        '_http._tcp.other.example.org 300 SRV 0 100 80 other.example.org.',
      ],
    })),
    {
      name: 'ours have precedence over those of ExternalDNS',
      given: annotated(external('external-dns.kubernetes.io/')),
      want: ['shop.example.org 60 A 192.0.2.1', http],
    },
    {
      name: 'another controller of ExternalDNS keeps its objects',
      given: annotated({ 'external-dns.alpha.kubernetes.io/controller': 'other' }),
      want: undefined,
    },
    {
      name: 'several host names have the same targets; spaces, case and a final dot do not matter',
      given: annotated({ 'fairlead.dev/hostname': 'A.example.org. , b.example.org' }),
      want: [
        'a.example.org 60 A 192.0.2.1',
        '_http._tcp.a.example.org 60 SRV 0 100 80 a.example.org.',
        'b.example.org 60 A 192.0.2.1',
        '_http._tcp.b.example.org 60 SRV 0 100 80 b.example.org.',
      ],
    },
    {
      name: 'a target that is a host name makes an alias',
      given: annotated({ 'fairlead.dev/target': 'edge.example.net.' }),
      want: [
        'shop.example.org 60 CNAME edge.example.net.',
        '_http._tcp.shop.example.org 60 SRV 0 100 80 edge.example.net.',
      ],
    },
    {
      name: 'ttl in seconds',
      given: annotated({ 'fairlead.dev/ttl': '7' }),
      want: ['shop.example.org 7 A 192.0.2.1', http.replace(' 60 ', ' 7 ')],
    },
    {
      name: 'ttl 0 is the default',
      given: annotated({ 'fairlead.dev/ttl': '0' }),
      want: ['shop.example.org 60 A 192.0.2.1', http],
    },
    {
      name: 'an invalid ttl is reported, and the default is used',
      given: annotated({ 'fairlead.dev/ttl': '2147483648' }),
      want: ['shop.example.org 60 A 192.0.2.1', http],
      refusals: ['InvalidAnnotation'],
    },
    {
      name: 'a wildcard has addresses, and no SRV records, which it cannot own',
      given: annotated({ 'fairlead.dev/hostname': '*.w.example.org' }),
      want: ['*.w.example.org 60 A 192.0.2.1'],
    },
    ...[
      'shop..example.org',
      'sh*p.example.org',
      'a.*.example.org',
      'example',
      `${'a'.repeat(64)}.org`,
      'shop example.org',
      '-a.org',
    ].map((hostname) => ({
      name: `the host name ${hostname.slice(0, 20)} is refused, and others are not`,
      given: annotated({ 'fairlead.dev/hostname': `${hostname},shop.example.org` }),
      want: ['shop.example.org 60 A 192.0.2.1', http],
      refusals: ['InvalidHostname'],
    })),
    ...['set-identifier', 'alias', 'record-type'].map((name) => ({
      name: `the annotation ${name} of ExternalDNS is refused, since a plain record would be wrong`,
      given: annotated({ [`external-dns.alpha.kubernetes.io/${name}`]: 'x' }),
      want: [],
      refusals: ['InvalidAnnotation'],
    })),
  ]);

  test('settings of webhook providers are passed on', () => {
    const annotations = { 'external-dns.alpha.kubernetes.io/webhook-proxied': 'true' };
    assert.deepEqual(claimOfService(service({}, { annotations }), nowhere)?.properties, { 'webhook/proxied': 'true' });
  });
});

describe('a NodePort Service', () => {
  check([
    {
      name: 'SRV-10 has the external addresses of usable nodes, and SRV records with node ports',
      given: [nodePort],
      around: { nodes },
      want: ['shop.example.org 60 A 198.51.100.1', nodeSrv],
    },
    {
      name: 'has internal addresses with access private',
      given: [nodePort, { annotations: { 'fairlead.dev/access': 'private' } }],
      around: { nodes },
      want: ['shop.example.org 60 A 10.0.0.1 | 10.0.0.2', nodeSrv],
    },
    {
      name: 'has internal addresses if no node has an external one',
      given: [nodePort],
      around: { nodes: nodes.slice(1, 2) },
      want: ['shop.example.org 60 A 10.0.0.2', nodeSrv],
    },
    {
      name: 'keeps nodes that are not ready if there are no others',
      given: [nodePort],
      around: { nodes: nodes.slice(3) },
      want: ['shop.example.org 60 A 198.51.100.4', nodeSrv],
    },
    {
      name: 'has only nodes with endpoints under externalTrafficPolicy Local',
      given: [{ ...nodePort, externalTrafficPolicy: 'Local' }, { annotations: { 'fairlead.dev/access': 'private' } }],
      around: { nodes, slices: [slice([{ addresses: ['10.1.0.1'], nodeName: 'b' }])] },
      want: ['shop.example.org 60 A 10.0.0.2', nodeSrv],
    },
    { name: 'has nothing without nodes', given: [nodePort], want: [], refusals: ['Pending'] },
  ]);
});

describe('other types of Services', () => {
  const endpoints = [
    { addresses: ['10.1.0.1'], hostname: 'db-0' },
    { addresses: ['10.1.0.2'], nodeName: 'a' },
    { addresses: ['10.1.0.3'], conditions: { ready: false } },
  ];
  check([
    {
      name: 'SRV-10 a headless Service has its ready endpoints, a name for each, and SRV records to them with ports of the slice',
      given: [headless],
      around: { slices: [slice(endpoints)] },
      want: [
        'shop.example.org 60 A 10.1.0.1 | 10.1.0.2',
        'db-0.shop.example.org 60 A 10.1.0.1',
        '10-1-0-2.shop.example.org 60 A 10.1.0.2',
        '_http._tcp.shop.example.org 60 SRV 0 100 8080 10-1-0-2.shop.example.org. | 0 100 8080 db-0.shop.example.org.',
      ],
    },
    {
      name: 'a headless Service without named ports has names only of endpoints with a host name',
      given: [{ ...headless, ports: [] }],
      around: { slices: [slice(endpoints)] },
      want: ['shop.example.org 60 A 10.1.0.1 | 10.1.0.2', 'db-0.shop.example.org 60 A 10.1.0.1'],
    },
    {
      name: 'a headless Service has addresses of nodes with endpoints-type NodeExternalIP',
      given: [{ ...headless, ports: [] }, { annotations: { 'fairlead.dev/endpoints-type': 'NodeExternalIP' } }],
      around: { nodes, slices: [slice(endpoints)] },
      want: ['shop.example.org 60 A 198.51.100.1'],
    },
    {
      name: 'a headless Service without ready endpoints has nothing',
      given: [headless],
      want: [],
      refusals: ['Pending'],
    },
    {
      name: 'a ClusterIP Service has nothing, and reports it',
      given: [{ type: 'ClusterIP' }, { ingress: [] }],
      want: [],
      refusals: ['NotExposed'],
    },
    {
      name: 'a ClusterIP Service has its external IPs',
      given: [{ type: 'ClusterIP', externalIPs: ['198.51.100.9'] }, { ingress: [] }],
      want: ['shop.example.org 60 A 198.51.100.9', http],
    },
    {
      name: 'an ExternalName Service is an alias',
      given: [{ type: 'ExternalName', externalName: 'www.example.net', ports: [] }, { ingress: [] }],
      want: ['shop.example.org 60 CNAME www.example.net.'],
    },
  ]);
});

describe('a Service that claims more than 20,000 records', () => {
  const names = (count: number): string => Array.from({ length: count }, (_, index) => `n-${index}.example.org`).join();
  const ports = (count: number): Partial<ServiceSpec> => ({
    ports: Array.from({ length: count }, (_, index) => ({ name: `p${index}`, port: index + 1, protocol: 'TCP' })),
  });
  const endpoints = slice(
    Array.from({ length: 7000 }, (_, index) => ({ addresses: [`10.1.${index >> 8}.${index & 255}`] })),
  );
  const given: readonly (readonly [string, Parameters<typeof service>, Partial<Surroundings>?])[] = [
    ['by host names and ports', [ports(1000), { annotations: { 'fairlead.dev/hostname': names(10_000) } }]],
    [
      'by host names of the load balancer and ports',
      [
        ports(1000),
        { ingress: Array.from({ length: 10_000 }, (_, index) => ({ hostname: `lb-${index}.example.net` })) },
      ],
    ],
    ['by endpoints', [headless], { slices: [endpoints] }],
    [
      'by host names and endpoints',
      [headless, { annotations: { 'fairlead.dev/hostname': names(10_000) } }],
      { slices: [endpoints] },
    ],
  ];
  for (const [name, of, around] of given)
    test(`${name} keeps what it has, with one rejection, and no work beyond the limit`, () => {
      const claim = claimOfService(service(...of), { ...nowhere, ...around });
      assert.deepEqual([claim?.sets, claim?.isKept], [[], true]);
      assert.equal(reasons(claim).at(-1), 'TooManyRecords');
    });
});

describe('an import', () => {
  const east = {
    cluster: 'east',
    targets: ['192.0.2.1'],
    ports: [{ label: 'http', protocol: 'TCP', port: 80 } as const],
  };
  const west = { ...east, cluster: 'west', targets: ['192.0.2.2'] };
  const of = (
    publication: MergedPublication | string,
    clusters: readonly string[],
    isReady: (cluster: string) => boolean = () => true,
  ): Claim | undefined =>
    claimOfImport(
      {
        metadata: {
          namespace: 'default',
          name: 'shop',
          annotations: {
            [publicationAnnotation]: typeof publication === 'string' ? publication : printPublication(publication),
          },
        },
      },
      {
        ...nowhere,
        slices: clusters.map((cluster) =>
          slice([{ conditions: { ready: isReady(cluster) } }], { [sourceClusterLabel]: cluster }),
        ),
      },
    );
  const merged = { hostname: 'shop.example.org', ttl: '30', clusters: [east, west] };
  const srv = http.replace(' 60 ', ' 30 ');

  test('has one name with the targets of all clusters', () => {
    const claim = of(merged, ['east', 'west']);
    assert.deepEqual(lines(claim?.sets ?? []), [srv, 'shop.example.org 30 A 192.0.2.1 | 192.0.2.2']);
    assert.equal(claim?.resource, 'serviceimport/default/shop');
  });

  test('loses the targets of a cluster whose slices were removed with its lease', () => {
    assert.deepEqual(lines(of(merged, ['west'])?.sets ?? []), [srv, 'shop.example.org 30 A 192.0.2.2']);
  });

  test('is kept as it is if all clusters are lost: the last target never disappears by mistake', () => {
    const claim = of(merged, []);
    assert.deepEqual([claim?.sets, claim?.isKept], [[], true]);
  });

  test('is kept as it is if the only cluster with a load balancer is lost', () => {
    const claim = of({ ...merged, clusters: [east, { ...west, targets: [] }] }, ['west']);
    assert.deepEqual([claim?.sets, claim?.isKept], [[], true]);
  });

  test('has nothing if no cluster has a load balancer any more', () => {
    const without = { ...merged, clusters: [east, west].map((each) => ({ ...each, targets: [] })) };
    const claim = of(without, ['east']);
    assert.deepEqual([claim?.sets, claim?.isKept, reasons(claim)], [[], undefined, ['Pending']]);
  });

  describe('with clusters that drain', () => {
    const drained = { ...east, draining: true as const };
    const addresses = (claim: Claim | undefined): readonly string[] =>
      (claim?.sets ?? []).flatMap(({ type, values }) => (type === 'A' ? values : []));
    const both = ['192.0.2.1', '192.0.2.2'];
    const names = ['east', 'west'];
    const draining = { ...merged, clusters: [drained, west] };

    test('has the targets of the others', () => assert.deepEqual(addresses(of(draining, names)), ['192.0.2.2']));
    test('has all if all drain', () => {
      const all = { ...merged, clusters: [drained, { ...west, draining: true as const }] };
      assert.deepEqual(addresses(of(all, names)), both);
    });
    test('has all if no other is ready', () =>
      assert.deepEqual(addresses(of(draining, names, (cluster) => cluster !== 'west')), both));
    test('has theirs if no other has a load balancer', () => {
      const alone = { ...merged, clusters: [drained, { ...west, targets: [] }] };
      assert.deepEqual(addresses(of(alone, names)), ['192.0.2.1']);
    });
    test('has theirs if the others are lost', () => assert.deepEqual(addresses(of(draining, ['east'])), ['192.0.2.1']));
    test('has nothing of what `draining` is not true in', () =>
      assert.equal(of(printPublication(draining).replace('"draining":true', '"draining":"yes"'), names), undefined));
  });

  test('is the alias of the oldest export if clusters have host names', () => {
    const named = {
      ...merged,
      clusters: [
        { ...east, targets: ['a.example.net'] },
        { ...west, targets: ['b.example.net'] },
      ],
    };
    const claim = of(named, ['east', 'west']);
    assert.deepEqual(lines(claim?.sets ?? []), [
      '_http._tcp.shop.example.org 30 SRV 0 100 80 a.example.net. | 0 100 80 b.example.net.',
      'shop.example.org 30 CNAME a.example.net.',
    ]);
    assert.deepEqual(reasons(claim), ['ConflictingTargets']);
  });

  for (const text of ['', '{', '[]', '{"hostname":1,"clusters":[]}', '{"hostname":"a.b","clusters":[{"cluster":"x"}]}'])
    test(`has no claim with the annotation ${text}`, () => assert.equal(of(text, []), undefined));
});
