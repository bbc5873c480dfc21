import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ServicePort } from '../../api/kinds/core/service/schema.ts';
import {
  serviceExport,
  headless,
  http,
  record,
  superclusterExport,
  service,
  sourceSlice,
  web,
} from '../testing/records.ts';
import type { RecordSettings } from '../testing/records.ts';
import type { McsApi } from '../record.ts';
import { merge } from './merge.ts';
import type { ConflictPolicy } from './merged.ts';

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

const portsOf = (merged: ReturnType<typeof merge>, api: McsApi): readonly string[] | undefined =>
  merged.views[api]?.ports.map((port) => `${port.name} ${port.port}/${port.protocol} ${port.clusters.join('+')}`);

describe('merged ports', () => {
  const tables: readonly {
    readonly name: string;
    readonly east: readonly ServicePort[];
    readonly west: readonly ServicePort[];
    /** undefined: withdrawn. */
    readonly supercluster: readonly string[] | undefined;
    readonly clusterset: readonly string[];
    readonly conflicts: readonly string[];
  }[] = [
    {
      name: 'MCS-15 merges equal ports into one',
      east: [http],
      west: [http],
      supercluster: ['http 80/TCP east+west'],
      clusterset: ['http 80/TCP east+west'],
      conflicts: [],
    },
    {
      name: 'MCS-125 exposes the union, which is a conflict in the clusterset API only',
      east: [http],
      west: [http, at(9090, 'admin')],
      supercluster: ['http 80/TCP east+west', 'admin 9090/TCP west'],
      clusterset: ['http 80/TCP east+west', 'admin 9090/TCP west'],
      conflicts: ['clusterset spec.ports[admin]'],
    },
    {
      name: 'MCS-126 reports different numbers under one name',
      east: [http],
      west: [at(8080)],
      supercluster: undefined,
      clusterset: ['http 80/TCP east'],
      conflicts: ['supercluster+clusterset spec.ports[http]'],
    },
    {
      name: 'MCS-126 reports different protocols under one name',
      east: [at(53, 'dns')],
      west: [at(53, 'dns', { protocol: 'UDP' })],
      supercluster: undefined,
      clusterset: ['dns 53/TCP east'],
      conflicts: ['supercluster+clusterset spec.ports[dns]'],
    },
    {
      name: 'MCS-127 reports one number under two names',
      east: [http],
      west: [at(80, 'web')],
      supercluster: undefined,
      clusterset: ['http 80/TCP east'],
      conflicts: [
        'supercluster+clusterset spec.ports[80/TCP].name',
        'clusterset spec.ports[http]',
        'clusterset spec.ports[web]',
      ],
    },
    {
      name: 'MCS-127 MCS-160 keeps equal numbers on two protocols as two ports',
      east: [at(53, 'dns-tcp'), at(53, 'dns-udp', { protocol: 'UDP' })],
      west: [at(53, 'dns-udp', { protocol: 'UDP' }), at(53, 'dns-tcp')],
      supercluster: ['dns-tcp 53/TCP east+west', 'dns-udp 53/UDP east+west'],
      clusterset: ['dns-tcp 53/TCP east+west', 'dns-udp 53/UDP east+west'],
      conflicts: [],
    },
    {
      name: 'MCS-120 reports an unnamed port beside other ports',
      east: [at(80, '')],
      west: [at(9090, 'admin')],
      supercluster: undefined,
      clusterset: [' 80/TCP east'],
      conflicts: ['supercluster+clusterset spec.ports', 'clusterset spec.ports[""]', 'clusterset spec.ports[admin]'],
    },
    {
      name: 'MCS-160 accepts different appProtocol values in the supercluster API',
      east: [at(80, 'http', { appProtocol: 'http' })],
      west: [at(80, 'http', { appProtocol: 'kubernetes.io/h2c' })],
      supercluster: ['http 80/TCP east+west'],
      clusterset: ['http 80/TCP east+west'],
      conflicts: ['clusterset spec.ports[http].appProtocol'],
    },
  ];
  for (const { name, east, west, supercluster, clusterset, conflicts } of tables) {
    test(name, () => {
      const merged = merge(web, both({ spec: { ports: east } }, { spec: { ports: west } }));
      assert.deepEqual(portsOf(merged, 'supercluster'), supercluster);
      assert.deepEqual(portsOf(merged, 'clusterset'), clusterset);
      assert.deepEqual(
        merged.conflicts.map(({ apis, field }) => `${apis.join('+')} ${field}`),
        conflicts,
      );
      assert.ok(merged.conflicts.every(({ reason }) => reason === 'PortConflict'));
    });
  }

  test('MCS-161 carries the SRV name of a port, from the field or the annotation', () => {
    const byField = service({ ports: [at(88, 'kdc', { srvServiceName: 'kerberos' })] });
    const annotations = { 'fairlead.dev/srv-service-names': 'kdc = kerberos,bad=NO_LABEL,=x' };
    const byAnnotation = service({ ports: [at(88, 'kdc')] }, { annotations });
    const merged = merge(web, both({ service: byField }, { service: byAnnotation }));
    assert.deepEqual(merged.conflicts, []);
    assert.equal(merged.views.supercluster?.ports[0]?.srvServiceName, 'kerberos');
  });
});

describe('settings that must be equal', () => {
  const tables: readonly {
    readonly name: string;
    readonly east: RecordSettings;
    readonly west: RecordSettings;
    readonly reasons: readonly string[];
    readonly supercluster: 'shown' | 'withdrawn';
  }[] = [
    {
      name: 'MCS-120 reports a Service that is headless in one cluster only',
      east: {},
      west: { spec: headless },
      reasons: ['supercluster+clusterset TypeConflict'],
      supercluster: 'withdrawn',
    },
    {
      name: 'MCS-128 reports families without a common one',
      east: {},
      west: { spec: { ipFamilies: ['IPv6'] } },
      reasons: ['supercluster+clusterset IPFamilyConflict'],
      supercluster: 'withdrawn',
    },
    {
      name: 'MCS-128 accepts two families and one family with the same first family',
      east: { spec: dual },
      west: {},
      reasons: [],
      supercluster: 'shown',
    },
    {
      name: 'MCS-128 reports the same two families in another order in the supercluster API only',
      east: { spec: dual },
      west: { spec: { ipFamilies: ['IPv6', 'IPv4'] } },
      reasons: ['supercluster IPFamilyConflict'],
      supercluster: 'withdrawn',
    },
    {
      name: 'MCS-131 reports different session affinity',
      east: {},
      west: { spec: { sessionAffinity: 'ClientIP' } },
      reasons: ['clusterset SessionAffinityConflict'],
      supercluster: 'shown',
    },
    {
      name: 'MCS-131 reports different session affinity configs',
      east: { spec: { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } } } },
      west: { spec: { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 20 } } } },
      reasons: ['clusterset SessionAffinityConfigConflict'],
      supercluster: 'shown',
    },
    {
      name: 'MCS-130 reports different internal traffic policies',
      east: {},
      west: { spec: { internalTrafficPolicy: 'Local' } },
      reasons: ['clusterset InternalTrafficPolicyConflict'],
      supercluster: 'shown',
    },
    {
      name: 'MCS-132 reports different traffic distributions',
      east: { spec: { trafficDistribution: 'PreferSameZone' } },
      west: {},
      reasons: ['clusterset TrafficDistributionConflict'],
      supercluster: 'shown',
    },
    {
      name: 'MCS-134 accepts different publishNotReadyAddresses',
      east: { spec: { publishNotReadyAddresses: true } },
      west: {},
      reasons: [],
      supercluster: 'shown',
    },
    {
      name: 'MCS-10 reports different exported labels and annotations',
      east: { serviceExport: serviceExport({}, { exportedLabels: { tier: 'a' }, exportedAnnotations: { note: 'a' } }) },
      west: { serviceExport: serviceExport({ creationTimestamp: '2026-01-02T00:00:00Z' }) },
      reasons: ['clusterset LabelsConflict', 'clusterset AnnotationsConflict'],
      supercluster: 'shown',
    },
    {
      name: 'MCS-10 ignores exports of the supercluster API when it compares labels',
      east: { serviceExport: serviceExport({}, { exportedLabels: { tier: 'a' } }) },
      west: { serviceExport: undefined },
      reasons: [],
      supercluster: 'shown',
    },
    {
      name: 'reports different public host names',
      east: { service: service({}, { annotations: { 'fairlead.dev/hostname': 'a.example.org' } }) },
      west: { service: service({}, { annotations: { 'fairlead.dev/hostname': 'b.example.org' } }) },
      reasons: ['clusterset HostnameConflict'],
      supercluster: 'shown',
    },
    {
      name: 'accepts a public host name that some clusters do not set, and another order of the same names',
      east: {},
      west: { service: service({}, { annotations: { 'fairlead.dev/hostname': 'a.example.org' } }) },
      reasons: [],
      supercluster: 'shown',
    },
    {
      name: 'MCS-91 treats NodePort and LoadBalancer as ClusterIP',
      east: { spec: { type: 'NodePort', ports: [{ ...http, nodePort: 30_080 }] } },
      west: { spec: { type: 'LoadBalancer' } },
      reasons: [],
      supercluster: 'shown',
    },
  ];
  for (const { name, east, west, reasons, supercluster } of tables) {
    test(name, () => {
      const merged = merge(web, both(east, west));
      assert.deepEqual(
        merged.conflicts.map(({ apis, reason }) => `${apis.join('+')} ${reason}`),
        reasons,
      );
      assert.equal(merged.views.supercluster === undefined ? 'withdrawn' : 'shown', supercluster);
      assert.ok(merged.views.clusterset, 'traffic is not disturbed in the clusterset view');
    });
  }

  test('the clusterset view has the common families, and all other settings of the oldest export', () => {
    const east = { exportedLabels: { tier: 'a' } };
    const merged = merge(
      web,
      both(
        { spec: { ...dual, sessionAffinity: 'ClientIP' }, serviceExport: serviceExport({}, east) },
        { spec: { trafficDistribution: 'PreferClose' } },
      ),
    );
    const { families, sessionAffinity, trafficDistribution, labels } = merged.views.clusterset ?? {};
    assert.deepEqual(
      { families, sessionAffinity, trafficDistribution, labels },
      { families: ['IPv4'], sessionAffinity: 'ClientIP', trafficDistribution: undefined, labels: { tier: 'a' } },
    );
  });

  test('MCS-106 MCS-130 carries the settings of each cluster unchanged', () => {
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
    assert.deepEqual(merged.views.supercluster?.clusters, [
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

  test('MCS-137 a conflict contains field, value of each cluster, rule, winner and the smallest fix', () => {
    const [conflict] = merge(web, three).conflicts;
    assert.deepEqual(conflict, {
      field: 'spec.ports[http]',
      reason: 'PortConflict',
      rule: 'ports of one name must have the same number and protocol in all clusters',
      values: [
        { cluster: 'east', value: '80/TCP', since: '2026-01-01T00:00:00Z' },
        { cluster: 'north', value: '8080/TCP', since: '2026-01-02T00:00:00Z' },
        { cluster: 'west', value: '8080/TCP', since: '2026-01-03T00:00:00Z' },
      ],
      winner: 'east',
      losers: ['north', 'west'],
      apis: ['supercluster', 'clusterset'],
      fix: { clusters: ['east'], value: '8080/TCP', text: 'in east: change port http to 8080/TCP' },
    });
  });

  test('MCS-137 reports all conflicts, not only the first', () => {
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
    readonly policy: ConflictPolicy;
    readonly ports: readonly string[] | undefined;
    readonly quarantined: readonly string[];
  }[] = [
    { policy: 'Withdraw', ports: undefined, quarantined: [] },
    { policy: 'OldestWins', ports: ['http 80/TCP east'], quarantined: [] },
    { policy: 'Quarantine', ports: ['http 80/TCP east'], quarantined: ['north', 'west'] },
  ];
  for (const { policy, ports, quarantined } of policies) {
    test(`MCS-122 the supercluster view under ${policy}; in the clusterset view the oldest wins`, () => {
      const merged = merge(web, three, { conflictPolicy: policy });
      assert.deepEqual(portsOf(merged, 'supercluster'), ports);
      assert.deepEqual(merged.quarantined, quarantined);
      assert.deepEqual(portsOf(merged, 'clusterset'), ['http 80/TCP east']);
      assert.deepEqual(
        merged.views.supercluster?.clusters.map(({ cluster }) => cluster),
        policy === 'Withdraw' ? undefined : policy === 'Quarantine' ? ['east'] : ['east', 'north', 'west'],
      );
    });
  }

  test('MCS-136 the merge after a resolved conflict equals one that never had it', () => {
    const solved = three.map((each) => ({ ...each, service: service({ ports: [at(8080)] }) }));
    const before = merge(web, three);
    const after = merge(web, solved, { incumbents: before.order });
    assert.deepEqual(after.conflicts, []);
    assert.deepEqual(portsOf(after, 'supercluster'), ['http 8080/TCP east+north+west']);
  });
});

describe('validation of exports', () => {
  test('MCS-13 MCS-11 exports nothing without an export', () => {
    const merged = merge(web, []);
    assert.deepEqual(
      [merged.views.supercluster, merged.views.clusterset, merged.exporters],
      [undefined, undefined, []],
    );
  });

  const verdicts: readonly {
    readonly name: string;
    readonly west: RecordSettings;
    readonly verdict: string;
    readonly order: readonly string[];
  }[] = [
    {
      name: 'MCS-25 MCS-26 rejects an export without a Service',
      west: { service: undefined },
      verdict: 'NoService',
      order: ['east'],
    },
    {
      name: 'MCS-93 rejects ExternalName',
      west: { spec: { type: 'ExternalName', externalName: 'example.org' } },
      verdict: 'InvalidServiceType',
      order: ['east'],
    },
    {
      name: 'MCS-163 accepts a Service that is no longer ExternalName',
      west: {},
      verdict: 'valid',
      order: ['east', 'west'],
    },
    {
      name: 'MCS-102 accepts a Service without endpoints',
      west: { slices: [] },
      verdict: 'valid',
      order: ['east', 'west'],
    },
    {
      name: 'MCS-104 withdraws when both exports are being deleted',
      west: {
        superclusterExport: superclusterExport({ deletionTimestamp: '2026-02-01T00:00:00Z' }),
        serviceExport: serviceExport({ deletionTimestamp: '2026-02-01T00:00:00Z' }),
      },
      verdict: 'leaving',
      order: ['east'],
    },
    {
      name: 'MCS-28 keeps the service when one of two exports is being deleted',
      west: { superclusterExport: superclusterExport({ deletionTimestamp: '2026-02-01T00:00:00Z' }) },
      verdict: 'valid',
      order: ['east', 'west'],
    },
    {
      name: 'MCS-12 accepts an export of the supercluster API alone',
      west: { serviceExport: undefined },
      verdict: 'valid',
      order: ['east', 'west'],
    },
    {
      name: 'MCS-12 accepts an export of the clusterset API alone',
      west: { superclusterExport: undefined },
      verdict: 'valid',
      order: ['east', 'west'],
    },
  ];
  for (const { name, west, verdict, order } of verdicts) {
    test(name, () => {
      const merged = merge(web, both({}, west));
      const found = merged.exporters.find(({ cluster }) => cluster === 'west')?.verdict;
      assert.equal(found?.state === 'invalid' ? found.reason : found?.state, verdict);
      assert.deepEqual(merged.order.toSorted(), order);
    });
  }

  test('MCS-94 merges a headless Service, also without ports', () => {
    const merged = merge(web, both({ spec: { ...headless, ports: [] } }, { spec: { ...headless, ports: [] } }));
    assert.equal(merged.views.supercluster?.type, 'Headless');
    assert.deepEqual(merged.conflicts, []);
  });

  test('a headless Service without ipFamilies gets those of its slices', () => {
    const spec = { ...headless, ipFamilies: [] };
    const six = sourceSlice('web-six', { addressType: 'IPv6' });
    assert.deepEqual(merge(web, [record('east', { spec, slices: [six] })]).views.supercluster?.families, ['IPv6']);
    assert.deepEqual(merge(web, [record('east', { spec, slices: [] })]).views.supercluster?.families, ['IPv4']);
  });

  test('throws on a record of another service', () => {
    assert.throws(
      () => merge({ namespace: 'shop', name: 'cart' }, [record('east')]),
      /bug: merge of shop\/cart received a record of shop\/web/,
    );
  });
});

describe('precedence', () => {
  const records = [record('b', { day: 2 }), record('a', { day: 2 }), record('c', { day: 1 })];

  for (const { name, ages, incumbents, want } of [
    { name: 'newcomers by age', ages: { b: 2, a: 3, c: 1 }, incumbents: [], want: 'cba' },
    { name: 'equal timestamps by id', ages: { b: 1, a: 1, c: 1 }, incumbents: [], want: 'abc' },
    { name: 'equal timestamps by id, whichever was read first', ages: { b: 1, a: 1 }, incumbents: ['b'], want: 'ab' },
    { name: 'equal timestamps of incumbents by id', ages: { b: 1, a: 1 }, incumbents: ['b', 'a'], want: 'ab' },
    { name: 'an incumbent before an older newcomer', ages: { b: 2, a: 1 }, incumbents: ['b'], want: 'ba' },
    { name: 'incumbents in their order', ages: { c: 3, b: 1, a: 3 }, incumbents: ['c', 'b', 'a'], want: 'cba' },
    {
      name: 'a newcomer equal to the last incumbent only',
      ages: { c: 1, b: 2, a: 1 },
      incumbents: ['c', 'b'],
      want: 'cba',
    },
  ]) {
    test(`orders ${name}`, () => {
      const records = Object.entries(ages).map(([cluster, day]) => record(cluster, { day }));
      const { order, views } = merge(web, records, { incumbents });
      assert.equal(order.join(''), want);
      assert.deepEqual(
        views.clusterset?.clusters.map(({ cluster }) => cluster),
        want.split(''),
      );
    });
  }

  test('the older export comes first; equal timestamps are ordered by cluster id', () => {
    assert.deepEqual(merge(web, records).order, ['c', 'a', 'b']);
  });

  test('an incumbent keeps its precedence when its export is re-created or another has an older timestamp', () => {
    assert.deepEqual(merge(web, records, { incumbents: ['b', 'gone'] }).order, ['b', 'c', 'a']);
  });

  test('two exports of one cluster count with the older timestamp', () => {
    const west = record('west', {
      superclusterExport: superclusterExport({ creationTimestamp: '2026-01-01T00:00:00Z' }),
      serviceExport: serviceExport({ creationTimestamp: '2026-01-09T00:00:00Z' }),
    });
    assert.deepEqual(merge(web, [record('east', { day: 5 }), west]).order, ['west', 'east']);
  });
});
