// Tests of whole zones: existing names, empty non-terminals, and the order of records.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Name } from '../../dnswire/data.ts';
import { apexRecords, zoneOptions, namespaceDynamicNames, namespaceRecords } from './apex.ts';
import { openZones } from './open-zones.ts';
import type { RecordOptions } from './options.ts';
import { podRecords } from './pods.ts';
import { endpoint, headless, lines, putService, service, slice, zoneLines } from './testing/records.ts';
import type { Zones } from './zones.ts';

const base: RecordOptions = { clusterDomain: 'cluster.local' };
const web = 'web.default.svc.cluster.local';

/** Zones with their own records and one namespace. */
function zonesWith(overrides: Partial<RecordOptions> = {}, namespaces: readonly string[] = ['default']) {
  const options = { ...base, ...overrides };
  const zones = openZones(options, { addresses: ['192.0.2.53'] });
  for (const namespace of namespaces) {
    zones.put(
      `Namespace/${namespace}`,
      namespaceRecords(namespace, options),
      namespaceDynamicNames(namespace, options),
    );
  }
  return { zones, options };
}

/** The types at a name: undefined is NXDOMAIN, none is NODATA. */
const typesAt = (zones: Zones, name: Name): readonly string[] | undefined => {
  const node = zones.find(name);
  return node && [...node.sets.keys()].toSorted();
};

describe('zones without Services', () => {
  it('have name servers, schema versions and empty non-terminals', () => {
    const { zones } = zonesWith({ clustersetDomain: 'clusterset.local', superclusterDomain: 'supercluster.local' });
    assert.deepEqual(zoneLines(zones, 'cluster.local'), [
      'cluster.local NS ns.dns.cluster.local.',
      'default.svc.cluster.local',
      'dns-version.cluster.local TXT "1.1.0"',
      'dns.cluster.local',
      'ns.dns.cluster.local A 192.0.2.53',
      'pod.cluster.local',
      'svc.cluster.local',
    ]);
    assert.deepEqual(zoneLines(zones, 'clusterset.local'), [
      'clusterset.local NS ns.dns.clusterset.local.',
      'default.svc.clusterset.local',
      'dns-version.clusterset.local TXT "1.0.0"',
      'dns.clusterset.local',
      'ns.dns.clusterset.local A 192.0.2.53',
      'svc.clusterset.local',
    ]);
    assert.deepEqual(typesAt(zones, 'dns-version.supercluster.local'), ['TXT']);
    assert.equal(zones.find('pod.clusterset.local'), undefined);
  });

  it('use default TTLs or --ttl', () => {
    assert.deepEqual(lines(apexRecords({ ...base, reverseCidrs: [] }, [])), [
      'cluster.local 30 NS ns.dns.cluster.local.',
      'dns-version.cluster.local 28800 TXT "1.1.0"',
    ]);
    const got = lines(apexRecords({ ...base, ttl: 1, reverseCidrs: [] }, ['192.0.2.53', '2001:db8::53']));
    assert.deepEqual(got, [
      'cluster.local 1 NS ns.dns.cluster.local.',
      'dns-version.cluster.local 1 TXT "1.1.0"',
      'ns.dns.cluster.local 1 A 192.0.2.53',
      'ns.dns.cluster.local 1 AAAA 2001:db8::53',
    ]);
  });

  it('continue the serials of the zones they replace', () => {
    const now = (): number => 1_800_000_000_000;
    const serial = (zones: Zones, apex: Name): number | undefined => {
      const [soa] = zones.zoneOf(apex)?.soa().data ?? [];
      return soa?.type === 'SOA' ? soa.serial : undefined;
    };
    const first = openZones(base, { addresses: [], now });
    assert.equal(serial(first, 'cluster.local'), 1_800_000_000);
    putService(first, service(), { options: base });
    assert.equal(serial(first, 'cluster.local'), 1_800_000_001);
    const second = openZones(
      { ...base, clustersetDomain: 'clusterset.local' },
      { addresses: [], now, previous: first },
    );
    assert.equal(serial(second, 'cluster.local'), 1_800_000_002);
    assert.equal(serial(second, 'clusterset.local'), 1_800_000_000);
  });

  it('are the reverse zones of the CIDRs, or all of them with fallthrough', () => {
    const apexes = (reverseCidrs?: readonly string[]): readonly unknown[] =>
      zoneOptions({ ...base, ...(reverseCidrs && { reverseCidrs }) }).map(({ apex, fallthrough = false, primary }) => [
        apex,
        fallthrough,
        primary,
      ]);
    const primary = 'ns.dns.cluster.local';
    assert.deepEqual(apexes(), [
      ['cluster.local', false, undefined],
      ['in-addr.arpa', true, primary],
      ['ip6.arpa', true, primary],
    ]);
    assert.deepEqual(apexes(['10.96.0.0/15', '10.96.0.0/16']), [
      ['cluster.local', false, undefined],
      ['96.10.in-addr.arpa', false, primary],
      ['97.10.in-addr.arpa', false, primary],
    ]);
    assert.throws(() => apexes(['10.96.0.0']), /reverse zone "10.96.0.0" is not a CIDR: write it as in 10.96.0.0\/12/);
  });
});

describe('existing names (section 1.3 and the differences of section 2.3)', () => {
  const { zones, options } = zonesWith();
  putService(zones, service(), { slices: [slice([endpoint('10.0.0.1')])], options });
  putService(zones, headless({}, { name: 'empty' }), { slices: [slice([], { name: 'empty-1' })], options });
  putService(zones, headless({}, { name: 'peers' }), {
    slices: [slice([endpoint('10.0.0.2', { hostname: 'a' })], { name: 'peers-1' })],
    options,
  });
  const alias = service({ type: 'ExternalName', externalName: 'db.example.org', clusterIP: '' }, { name: 'db' });
  putService(zones, alias, { options });

  const table: readonly { readonly name: Name; readonly want: readonly string[] | undefined }[] = [
    { name: 'cluster.local', want: ['NS', 'SOA'] },
    { name: 'svc.cluster.local', want: [] },
    { name: 'pod.cluster.local', want: [] },
    { name: 'default.pod.cluster.local', want: undefined },
    { name: 'default.svc.cluster.local', want: [] },
    { name: 'other.svc.cluster.local', want: undefined },
    { name: 'dns-version.cluster.local', want: ['TXT'] },
    { name: 'dns.cluster.local', want: [] },
    { name: web, want: ['A', 'SRV'] },
    { name: `_tcp.${web}`, want: [] },
    { name: `_udp.${web}`, want: undefined },
    { name: `_http._tcp.${web}`, want: ['SRV'] },
    { name: `http.tcp.${web}`, want: undefined },
    { name: `_https._tcp.${web}`, want: undefined },
    { name: `10-0-0-1.${web}`, want: ['A'] },
    { name: `x.10-0-0-1.${web}`, want: undefined },
    { name: `*.${web}`, want: undefined },
    { name: 'empty.default.svc.cluster.local', want: undefined },
    { name: '_http._tcp.empty.default.svc.cluster.local', want: undefined },
    { name: 'peers.default.svc.cluster.local', want: ['A', 'SRV'] },
    { name: 'a.peers.default.svc.cluster.local', want: ['A'] },
    { name: '10-0-0-2.peers.default.svc.cluster.local', want: undefined },
    { name: 'db.default.svc.cluster.local', want: ['CNAME'] },
    { name: '1.0.96.10.in-addr.arpa', want: ['PTR'] },
    { name: '0.96.10.in-addr.arpa', want: [] },
    { name: '10.in-addr.arpa', want: [] },
    { name: '2.0.96.10.in-addr.arpa', want: undefined },
  ];
  for (const { name, want } of table) it(name, () => assert.deepEqual(typesAt(zones, name), want));
});

describe('slices of one Service', () => {
  it('are merged without duplicates, and both families share a name', () => {
    const { zones, options } = zonesWith();
    const slices = [
      slice([endpoint('10.0.0.1', { hostname: 'web-0' }), endpoint('10.0.0.2', { hostname: 'web-1' })]),
      slice([endpoint('10.0.0.2', { hostname: 'web-1' })], { name: 'web-2' }),
      slice([endpoint('fd00::1', { hostname: 'web-0' })], { name: 'web-3' }),
    ];
    putService(zones, headless(), { slices, options });
    const own = zoneLines(zones, 'cluster.local').filter((line) => line.includes('web'));
    assert.deepEqual(own, [
      `_http._tcp.${web} SRV 0 100 8080 web-0.${web}.`,
      `_http._tcp.${web} SRV 0 100 8080 web-1.${web}.`,
      `_tcp.${web}`,
      `web-0.${web} A 10.0.0.1`,
      `web-0.${web} AAAA fd00::1`,
      `web-1.${web} A 10.0.0.2`,
      `${web} A 10.0.0.1`,
      `${web} A 10.0.0.2`,
      `${web} AAAA fd00::1`,
      `${web} SRV 0 100 8080 web-0.${web}.`,
      `${web} SRV 0 100 8080 web-1.${web}.`,
    ]);
    assert.deepEqual(zones.find(`web-1.${web}`)?.sources(), [
      'EndpointSlice/default/web-1',
      'EndpointSlice/default/web-2',
    ]);
  });

  it('order PTR records by chosen host names, then generated names', () => {
    const { zones, options } = zonesWith();
    const at = (name: string, hostname?: string) => [
      slice([endpoint('10.0.0.1', hostname === undefined ? {} : { hostname })], { name: `${name}-1` }),
    ];
    putService(zones, service({}, { name: 'a' }), { slices: at('a', 'web-0'), options });
    putService(zones, headless({}, { name: 'b' }), { slices: at('b'), options });
    putService(zones, headless({}, { name: 'c' }), { slices: at('c', 'web-0'), options });
    const [first, ...rest] = zones.find('1.0.0.10.in-addr.arpa')?.sets.get('PTR')?.data ?? [];
    assert.deepEqual(first, { type: 'PTR', target: 'web-0.c.default.svc.cluster.local' });
    assert.deepEqual(rest, [
      { type: 'PTR', target: '10-0-0-1.b.default.svc.cluster.local' },
      { type: 'PTR', target: 'web-0.a.default.svc.cluster.local' },
    ]);
  });
});

describe('topology zones', () => {
  it('publish pin and prefer names only with the option', () => {
    const { zones, options } = zonesWith({ zonal: true });
    const slices = [
      slice([endpoint('10.0.0.1', { zone: 'z1' }), endpoint('10.0.0.2', { zone: 'z2' }), endpoint('10.0.0.3')]),
    ];
    putService(zones, headless(), { slices, options });
    const addresses = (name: string): readonly string[] | undefined =>
      zones
        .find(`${name}.${web}`)
        ?.sets.get('A')
        ?.data.map((each) => (each.type === 'A' ? each.address : ''));
    assert.deepEqual(addresses('z1.pin._zone'), ['10.0.0.1']);
    assert.deepEqual(addresses('z2.prefer._zone'), ['10.0.0.2']);
    assert.deepEqual(addresses('z3.prefer._zone'), ['10.0.0.1', '10.0.0.2', '10.0.0.3']);
    assert.deepEqual(typesAt(zones, `z3.pin._zone.${web}`), []);
    assert.deepEqual(typesAt(zones, `_zone.${web}`), []);
    assert.equal(zones.find(`not_a_zone.pin._zone.${web}`), undefined);
    assert.equal(zones.find(`a.z3.pin._zone.${web}`), undefined);
    const without = zonesWith();
    putService(without.zones, headless(), { slices, options: without.options });
    assert.equal(without.zones.find(`z1.pin._zone.${web}`), undefined);
  });
});

describe('Pods', () => {
  const pod = (
    ips: readonly string[],
    rest: { readonly phase?: string; readonly deletionTimestamp?: string } = {},
  ): Pod => {
    const { phase = 'Running', ...metadata } = rest;
    const object = {
      metadata: { name: 'p', namespace: 'default', ...metadata },
      spec: { containers: [] },
      status: { phase, podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) },
    };
    // Only the fields that records need.
    return object as unknown as Pod;
  };

  it('verified: publishes every address of an existing Pod', () => {
    const options: RecordOptions = { ...base, pods: 'verified' };
    assert.deepEqual(lines(podRecords(pod(['10.0.0.1', 'fd00::1']), options)), [
      '10-0-0-1.default.pod.cluster.local 5 A 10.0.0.1',
      'fd00--1.default.pod.cluster.local 5 AAAA fd00::1',
    ]);
    assert.deepEqual(podRecords(pod(['10.0.0.1'], { phase: 'Succeeded' }), options), []);
    assert.deepEqual(podRecords(pod(['10.0.0.1'], { deletionTimestamp: '2026-01-01T00:00:00Z' }), options), []);
    assert.deepEqual(podRecords(pod([]), options), []);
    assert.deepEqual(podRecords(pod(['10.0.0.1']), { ...base, pods: 'insecure' }), []);
    const { zones } = zonesWith({ pods: 'verified' });
    assert.deepEqual(typesAt(zones, 'default.pod.cluster.local'), []);
    assert.equal(zones.find('10-0-0-1.default.pod.cluster.local'), undefined);
  });

  it('insecure: answers for every address in existing namespaces', () => {
    const { zones } = zonesWith({ pods: 'insecure' });
    assert.deepEqual(typesAt(zones, '10-0-0-1.default.pod.cluster.local'), ['A']);
    assert.deepEqual(typesAt(zones, 'fd00-10--7.default.pod.cluster.local'), ['AAAA']);
    assert.deepEqual(typesAt(zones, 'default.pod.cluster.local'), []);
    for (const name of ['web.default', 'x.10-0-0-1.default', '10-0-0-1.other', '10-0-0-256.default']) {
      assert.equal(zones.find(`${name}.pod.cluster.local`), undefined, name);
    }
  });

  it('disabled: publishes none', () => {
    const { zones } = zonesWith();
    assert.equal(zones.find('10-0-0-1.default.pod.cluster.local'), undefined);
  });
});
