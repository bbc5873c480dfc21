import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ServicePort } from '../../api/kinds/core/service/schema.ts';
import { currentExport, headless, http, record, seedExport, service, sourceSlice, web } from '../testing/records.ts';
import type { RecordSettings } from '../testing/records.ts';
import type { Shape } from '../record.ts';
import { merge } from './merge.ts';
import type { SeedPolicy } from './merged.ts';

const at = (port: number, name = 'http', rest: Partial<ServicePort> = {}): ServicePort => ({
  name,
  port,
  protocol: 'TCP',
  ...rest,
});
const dual = { ipFamilies: ['IPv4', 'IPv6'] } as const;

/** Exports of east, a day before west's. */
const both = (east: RecordSettings, west: RecordSettings) => [
  record('east', east),
  record('west', { day: 2, ...west }),
];

const portsOf = (merged: ReturnType<typeof merge>, shape: Shape): readonly string[] | undefined =>
  merged.views[shape]?.ports.map((port) => `${port.name} ${port.port}/${port.protocol} ${port.clusters.join('+')}`);

describe('merged ports', () => {
  const tables: readonly {
    readonly name: string;
    readonly east: readonly ServicePort[];
    readonly west: readonly ServicePort[];
    /** undefined: withdrawn. */
    readonly seed: readonly string[] | undefined;
    readonly current: readonly string[];
    readonly conflicts: readonly string[];
  }[] = [
    {
      name: 'MCS-15 equal ports are one',
      east: [http],
      west: [http],
      seed: ['http 80/TCP east+west'],
      current: ['http 80/TCP east+west'],
      conflicts: [],
    },
    {
      name: 'MCS-125 the superset is exposed, which today’s API calls a conflict all the same',
      east: [http],
      west: [http, at(9090, 'admin')],
      seed: ['http 80/TCP east+west', 'admin 9090/TCP west'],
      current: ['http 80/TCP east+west', 'admin 9090/TCP west'],
      conflicts: ['current spec.ports[admin]'],
    },
    {
      name: 'MCS-126 different numbers under one name',
      east: [http],
      west: [at(8080)],
      seed: undefined,
      current: ['http 80/TCP east'],
      conflicts: ['seed+current spec.ports[http]'],
    },
    {
      name: 'MCS-126 different protocols under one name',
      east: [at(53, 'dns')],
      west: [at(53, 'dns', { protocol: 'UDP' })],
      seed: undefined,
      current: ['dns 53/TCP east'],
      conflicts: ['seed+current spec.ports[dns]'],
    },
    {
      name: 'MCS-127 one number under two names',
      east: [http],
      west: [at(80, 'web')],
      seed: undefined,
      current: ['http 80/TCP east'],
      conflicts: ['seed+current spec.ports[80/TCP].name', 'current spec.ports[http]', 'current spec.ports[web]'],
    },
    {
      name: 'MCS-127 MCS-160 equal numbers on two protocols are two ports',
      east: [at(53, 'dns-tcp'), at(53, 'dns-udp', { protocol: 'UDP' })],
      west: [at(53, 'dns-udp', { protocol: 'UDP' }), at(53, 'dns-tcp')],
      seed: ['dns-tcp 53/TCP east+west', 'dns-udp 53/UDP east+west'],
      current: ['dns-tcp 53/TCP east+west', 'dns-udp 53/UDP east+west'],
      conflicts: [],
    },
    {
      name: 'MCS-120 a port without a name cannot stand beside others',
      east: [at(80, '')],
      west: [at(9090, 'admin')],
      seed: undefined,
      current: [' 80/TCP east'],
      conflicts: ['seed+current spec.ports', 'current spec.ports[""]', 'current spec.ports[admin]'],
    },
    {
      name: 'MCS-160 appProtocol may differ in the seed, whose service works with either',
      east: [at(80, 'http', { appProtocol: 'http' })],
      west: [at(80, 'http', { appProtocol: 'kubernetes.io/h2c' })],
      seed: ['http 80/TCP east+west'],
      current: ['http 80/TCP east+west'],
      conflicts: ['current spec.ports[http].appProtocol'],
    },
  ];
  for (const { name, east, west, seed, current, conflicts } of tables) {
    test(name, () => {
      const merged = merge(web, both({ spec: { ports: east } }, { spec: { ports: west } }));
      assert.deepEqual(portsOf(merged, 'seed'), seed);
      assert.deepEqual(portsOf(merged, 'current'), current);
      assert.deepEqual(
        merged.conflicts.map(({ shapes, field }) => `${shapes.join('+')} ${field}`),
        conflicts,
      );
      assert.ok(merged.conflicts.every(({ reason }) => reason === 'PortConflict'));
    });
  }

  test('MCS-161 the SRV name of a port travels, by its field or by annotation', () => {
    const byField = service({ ports: [at(88, 'kdc', { srvServiceName: 'kerberos' })] });
    const annotations = { 'fairlead.dev/srv-service-names': 'kdc = kerberos,bad=NO_LABEL,=x' };
    const byAnnotation = service({ ports: [at(88, 'kdc')] }, { annotations });
    const merged = merge(web, both({ service: byField }, { service: byAnnotation }));
    assert.deepEqual(merged.conflicts, []);
    assert.equal(merged.views.seed?.ports[0]?.srvServiceName, 'kerberos');
  });
});

describe('what must agree', () => {
  const tables: readonly {
    readonly name: string;
    readonly east: RecordSettings;
    readonly west: RecordSettings;
    readonly reasons: readonly string[];
    readonly seed: 'shown' | 'withdrawn';
  }[] = [
    {
      name: 'MCS-120 headless in one cluster only',
      east: {},
      west: { spec: headless },
      reasons: ['seed+current TypeConflict'],
      seed: 'withdrawn',
    },
    {
      name: 'MCS-128 families without one in common',
      east: {},
      west: { spec: { ipFamilies: ['IPv6'] } },
      reasons: ['seed+current IPFamilyConflict'],
      seed: 'withdrawn',
    },
    {
      name: 'MCS-128 two families in one cluster and one in the other, the first being the same',
      east: { spec: dual },
      west: {},
      reasons: [],
      seed: 'shown',
    },
    {
      name: 'MCS-128 the same two families in another order: the seed has one',
      east: { spec: dual },
      west: { spec: { ipFamilies: ['IPv6', 'IPv4'] } },
      reasons: ['seed IPFamilyConflict'],
      seed: 'withdrawn',
    },
    {
      name: 'MCS-131 session affinity',
      east: {},
      west: { spec: { sessionAffinity: 'ClientIP' } },
      reasons: ['current SessionAffinityConflict'],
      seed: 'shown',
    },
    {
      name: 'MCS-131 settings of session affinity',
      east: { spec: { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } } } },
      west: { spec: { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 20 } } } },
      reasons: ['current SessionAffinityConfigConflict'],
      seed: 'shown',
    },
    {
      name: 'MCS-130 internal traffic policy',
      east: {},
      west: { spec: { internalTrafficPolicy: 'Local' } },
      reasons: ['current InternalTrafficPolicyConflict'],
      seed: 'shown',
    },
    {
      name: 'MCS-132 traffic distribution',
      east: { spec: { trafficDistribution: 'PreferSameZone' } },
      west: {},
      reasons: ['current TrafficDistributionConflict'],
      seed: 'shown',
    },
    {
      name: 'MCS-134 publishNotReadyAddresses is each cluster’s own',
      east: { spec: { publishNotReadyAddresses: true } },
      west: {},
      reasons: [],
      seed: 'shown',
    },
    {
      name: 'MCS-10 exported labels and annotations, of exports that can have them',
      east: { currentExport: currentExport({}, { exportedLabels: { tier: 'a' }, exportedAnnotations: { note: 'a' } }) },
      west: { currentExport: currentExport({ creationTimestamp: '2026-01-02T00:00:00Z' }) },
      reasons: ['current LabelsConflict', 'current AnnotationsConflict'],
      seed: 'shown',
    },
    {
      name: 'MCS-10 an export of the seed’s shape has no opinion on labels',
      east: { currentExport: currentExport({}, { exportedLabels: { tier: 'a' } }) },
      west: { currentExport: undefined },
      reasons: [],
      seed: 'shown',
    },
    {
      name: 'MCS-91 NodePort and LoadBalancer are as ClusterIP',
      east: { spec: { type: 'NodePort', ports: [{ ...http, nodePort: 30_080 }] } },
      west: { spec: { type: 'LoadBalancer' } },
      reasons: [],
      seed: 'shown',
    },
  ];
  for (const { name, east, west, reasons, seed } of tables) {
    test(name, () => {
      const merged = merge(web, both(east, west));
      assert.deepEqual(
        merged.conflicts.map(({ shapes, reason }) => `${shapes.join('+')} ${reason}`),
        reasons,
      );
      assert.equal(merged.views.seed === undefined ? 'withdrawn' : 'shown', seed);
      assert.ok(merged.views.current, 'traffic is not disturbed in the current view');
    });
  }

  test('the current view shows the families that all have, and what the oldest has of everything else', () => {
    const east = { exportedLabels: { tier: 'a' } };
    const merged = merge(
      web,
      both(
        { spec: { ...dual, sessionAffinity: 'ClientIP' }, currentExport: currentExport({}, east) },
        { spec: { trafficDistribution: 'PreferClose' } },
      ),
    );
    const { families, sessionAffinity, trafficDistribution, labels } = merged.views.current ?? {};
    assert.deepEqual(
      { families, sessionAffinity, trafficDistribution, labels },
      { families: ['IPv4'], sessionAffinity: 'ClientIP', trafficDistribution: undefined, labels: { tier: 'a' } },
    );
  });

  test('MCS-106 MCS-130 settings are carried for each cluster, unaltered', () => {
    const affinity = {
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } },
    } as const;
    const annotations = {
      'fairlead.dev/topology-keys': 'topology.kubernetes.io/zone, topology.kubernetes.io/region,*',
    };
    const merged = merge(web, [
      record('east', { service: service({ publishNotReadyAddresses: true, ...affinity }, { annotations }) }),
      record('west', { day: 2, spec: { trafficDistribution: 'PreferSameZone' } }),
    ]);
    assert.deepEqual(merged.views.seed?.clusters, [
      {
        cluster: 'east',
        topologyKeys: ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region', '*'],
        publishNotReadyAddresses: true,
        ...affinity,
      },
      { cluster: 'west', topologyKeys: ['topology.kubernetes.io/zone', '*'], sessionAffinity: 'None' },
    ]);
  });
});

describe('conflicts', () => {
  const three = [
    record('east', { spec: { ports: [at(80)] } }),
    record('north', { day: 2, spec: { ports: [at(8080)] } }),
    record('west', { day: 3, spec: { ports: [at(8080)] } }),
  ];

  test('MCS-137 a conflict says field, value of each cluster, rule, winner and the smallest fix', () => {
    const [conflict] = merge(web, three).conflicts;
    assert.deepEqual(conflict, {
      field: 'spec.ports[http]',
      reason: 'PortConflict',
      rule: 'a port of one name has one number and protocol in all clusters',
      values: [
        { cluster: 'east', value: '80/TCP', since: '2026-01-01T00:00:00Z' },
        { cluster: 'north', value: '8080/TCP', since: '2026-01-02T00:00:00Z' },
        { cluster: 'west', value: '8080/TCP', since: '2026-01-03T00:00:00Z' },
      ],
      winner: 'east',
      losers: ['north', 'west'],
      shapes: ['seed', 'current'],
      fix: { clusters: ['east'], value: '8080/TCP', text: 'in east: change port http to 8080/TCP' },
    });
  });

  test('MCS-137 all conflicts are told, not just the first', () => {
    const merged = merge(
      web,
      both({}, { spec: { ...headless, ports: [at(81)], sessionAffinity: 'ClientIP', ipFamilies: ['IPv6'] } }),
    );
    assert.deepEqual(
      merged.conflicts.map(({ reason }) => reason),
      ['TypeConflict', 'IPFamilyConflict', 'PortConflict', 'SessionAffinityConflict'],
    );
  });

  const policies: readonly {
    readonly policy: SeedPolicy;
    readonly ports: readonly string[] | undefined;
    readonly quarantined: readonly string[];
  }[] = [
    { policy: 'Withdraw', ports: undefined, quarantined: [] },
    { policy: 'OldestWins', ports: ['http 80/TCP east'], quarantined: [] },
    { policy: 'Quarantine', ports: ['http 80/TCP east'], quarantined: ['north', 'west'] },
  ];
  for (const { policy, ports, quarantined } of policies) {
    test(`MCS-122 the seed view under ${policy}; the current one lets the oldest win whatever it is`, () => {
      const merged = merge(web, three, { seedPolicy: policy });
      assert.deepEqual(portsOf(merged, 'seed'), ports);
      assert.deepEqual(merged.quarantined, quarantined);
      assert.deepEqual(portsOf(merged, 'current'), ['http 80/TCP east']);
      assert.deepEqual(
        merged.views.seed?.clusters.map(({ cluster }) => cluster),
        policy === 'Withdraw' ? undefined : policy === 'Quarantine' ? ['east'] : ['east', 'north', 'west'],
      );
    });
  }

  test('MCS-136 a conflict that is solved leaves no trace', () => {
    const solved = three.map((each) => ({ ...each, service: service({ ports: [at(8080)] }) }));
    const before = merge(web, three);
    const after = merge(web, solved, { incumbents: before.order });
    assert.deepEqual(after.conflicts, []);
    assert.deepEqual(portsOf(after, 'seed'), ['http 8080/TCP east+north+west']);
  });
});

describe('which exports count', () => {
  test('MCS-13 MCS-11 nothing is exported without an export', () => {
    const merged = merge(web, []);
    assert.deepEqual([merged.views.seed, merged.views.current, merged.exporters], [undefined, undefined, []]);
  });

  const verdicts: readonly {
    readonly name: string;
    readonly west: RecordSettings;
    readonly verdict: string;
    readonly order: readonly string[];
  }[] = [
    { name: 'MCS-25 MCS-26 no Service', west: { service: undefined }, verdict: 'NoService', order: ['east'] },
    {
      name: 'MCS-93 ExternalName',
      west: { spec: { type: 'ExternalName', externalName: 'example.org' } },
      verdict: 'InvalidServiceType',
      order: ['east'],
    },
    { name: 'MCS-163 no longer ExternalName', west: {}, verdict: 'valid', order: ['east', 'west'] },
    { name: 'MCS-102 no endpoints at all', west: { slices: [] }, verdict: 'valid', order: ['east', 'west'] },
    {
      name: 'MCS-104 both exports are being deleted',
      west: {
        seedExport: seedExport({ deletionTimestamp: '2026-02-01T00:00:00Z' }),
        currentExport: currentExport({ deletionTimestamp: '2026-02-01T00:00:00Z' }),
      },
      verdict: 'leaving',
      order: ['east'],
    },
    {
      name: 'MCS-28 one of two exports is being deleted',
      west: { seedExport: seedExport({ deletionTimestamp: '2026-02-01T00:00:00Z' }) },
      verdict: 'valid',
      order: ['east', 'west'],
    },
    {
      name: 'MCS-12 only the seed’s export',
      west: { currentExport: undefined },
      verdict: 'valid',
      order: ['east', 'west'],
    },
    { name: 'MCS-12 only today’s export', west: { seedExport: undefined }, verdict: 'valid', order: ['east', 'west'] },
  ];
  for (const { name, west, verdict, order } of verdicts) {
    test(name, () => {
      const merged = merge(web, both({}, west));
      const found = merged.exporters.find(({ cluster }) => cluster === 'west')?.verdict;
      assert.equal(found?.state === 'invalid' ? found.reason : found?.state, verdict);
      assert.deepEqual(merged.order.toSorted(), order);
    });
  }

  test('MCS-94 a headless Service is merged as one, without ports too', () => {
    const merged = merge(web, both({ spec: { ...headless, ports: [] } }, { spec: { ...headless, ports: [] } }));
    assert.equal(merged.views.seed?.type, 'Headless');
    assert.deepEqual(merged.conflicts, []);
  });

  test('a headless Service that has no families takes those of its slices', () => {
    const spec = { ...headless, ipFamilies: [] };
    const six = sourceSlice('web-six', { addressType: 'IPv6' });
    assert.deepEqual(merge(web, [record('east', { spec, slices: [six] })]).views.seed?.families, ['IPv6']);
    assert.deepEqual(merge(web, [record('east', { spec, slices: [] })]).views.seed?.families, ['IPv4']);
  });

  test('a record of another service is a bug', () => {
    assert.throws(() => merge({ namespace: 'shop', name: 'cart' }, [record('east')]), /bug: a record of shop\/web/);
  });
});

describe('precedence', () => {
  const records = [record('b', { day: 2 }), record('a', { day: 2 }), record('c', { day: 1 })];

  test('the older export first, exports of one second by the id of their cluster', () => {
    assert.deepEqual(merge(web, records).order, ['c', 'a', 'b']);
  });

  test('who came first stays first, though its export was created anew or another claims to be older', () => {
    assert.deepEqual(merge(web, records, { incumbents: ['b', 'gone'] }).order, ['b', 'c', 'a']);
  });

  test('two exports of one cluster are as old as the older', () => {
    const west = record('west', {
      seedExport: seedExport({ creationTimestamp: '2026-01-01T00:00:00Z' }),
      currentExport: currentExport({ creationTimestamp: '2026-01-09T00:00:00Z' }),
    });
    assert.deepEqual(merge(web, [record('east', { day: 5 }), west]).order, ['west', 'east']);
  });
});
