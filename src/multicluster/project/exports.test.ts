import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiObject } from '../../api/metadata.ts';
import { merge } from '../merge/merge.ts';
import type { MergeOptions } from '../merge/merged.ts';
import type { ClusterExport } from '../record.ts';
import { serviceExport, http, record, superclusterExport, web } from '../testing/records.ts';
import type { RecordSettings } from '../testing/records.ts';
import { rejectedIn, skippedIn } from './delivery.ts';
import type { Delivery } from './export-conditions.ts';
import { exportConditions } from './export-conditions.ts';
import type { Progress } from './exports.ts';
import { diffExports, diffLeavingExports } from './exports.ts';
import { exportFinalizer } from './labels.ts';

const has = (cluster: string): Delivery => ({ cluster, state: 'acknowledged', hasAddress: true });
const all = [has('east'), has('north'), has('west')];
const conflicting: RecordSettings = { day: 2, spec: { ports: [{ ...http, port: 8080 }] } };

interface Row {
  readonly name: string;
  readonly east?: RecordSettings;
  readonly west?: RecordSettings;
  readonly deliveries?: readonly Delivery[];
  readonly options?: MergeOptions;
  /** The conditions of west's export: type status reason. */
  readonly supercluster: readonly string[];
  readonly clusterset: readonly string[];
  /** Matches the messages. */
  readonly messages?: RegExp;
}

const fine = ['Initialized True Initialized', 'Exported True Exported', 'Conflict False NoConflicts'];
const fineNow = ['Valid True Valid', 'Ready True Exported', 'Conflict False NoConflicts'];

const rows: readonly Row[] = [
  {
    name: 'MCS-19 MCS-20 imported into all clusters',
    supercluster: fine,
    clusterset: fineNow,
    messages: /all clusters have the service/,
  },
  {
    name: 'MCS-20 MCS-109 a member without the namespace is named',
    deliveries: [has('east'), skippedIn('north', 'shop'), skippedIn('south', 'shop')],
    supercluster: fine,
    clusterset: fineNow,
    messages: /have the service, except north and south, which do not have its namespace/,
  },
  {
    name: 'MCS-20 a member that is rejected is named',
    deliveries: [has('east'), skippedIn('north', 'shop'), rejectedIn('south', 'the cluster was replaced')],
    supercluster: fine,
    clusterset: fineNow,
    messages:
      /except north, which does not have its namespace, and south, which the controller rejects \(see `fairlead mcs list`\)$/m,
  },
  {
    name: 'MCS-23 a member that cannot be read is named with the reason, and delays no other',
    deliveries: [
      has('east'),
      { cluster: 'north', state: 'unreachable', hasAddress: false },
      { cluster: 'south', state: 'unreachable', hasAddress: false, error: 'cluster south serves neither kind' },
    ],
    supercluster: ['Initialized True Initialized', 'Exported False Pending', 'Conflict False NoConflicts'],
    clusterset: fineNow,
    messages: /cannot reach north; cluster south serves neither kind$/m,
  },
  {
    name: 'MCS-25 MCS-26 there is no Service',
    west: { service: undefined },
    supercluster: ['Initialized False NoService', 'Exported False NoService', 'Conflict False NoConflicts'],
    clusterset: ['Valid False NoService', 'Ready False Failed', 'Conflict False NoConflicts'],
    messages: /no Service shop\/web in cluster west: create it/,
  },
  {
    name: 'MCS-93 the Service is an ExternalName',
    west: { spec: { type: 'ExternalName' } },
    supercluster: [
      'Initialized False InvalidServiceType',
      'Exported False InvalidServiceType',
      'Conflict False NoConflicts',
    ],
    clusterset: ['Valid False InvalidServiceType', 'Ready False Failed', 'Conflict False NoConflicts'],
    messages: /cannot be exported/,
  },
  {
    name: 'MCS-23 a member lags',
    deliveries: [has('east'), { cluster: 'north', state: 'pending', hasAddress: true }],
    supercluster: ['Initialized True Initialized', 'Exported False Pending', 'Conflict False NoConflicts'],
    clusterset: ['Valid True Valid', 'Ready False Pending', 'Conflict False NoConflicts'],
    messages: /not yet in north/,
  },
  {
    name: 'MCS-23 an unreachable member: not Exported, but Ready',
    deliveries: [has('east'), { cluster: 'north', state: 'unreachable', hasAddress: false }],
    supercluster: ['Initialized True Initialized', 'Exported False Pending', 'Conflict False NoConflicts'],
    clusterset: fineNow,
    messages: /cannot reach north/,
  },
  {
    name: 'MCS-19 a member without an address yet',
    deliveries: [has('east'), { cluster: 'north', state: 'pending', hasAddress: false }],
    supercluster: ['Initialized False Pending', 'Exported False Pending', 'Conflict False NoConflicts'],
    clusterset: ['Valid True Valid', 'Ready False Pending', 'Conflict False NoConflicts'],
    messages: /no address yet in north/,
  },
  {
    name: 'MCS-45 a pool is exhausted',
    deliveries: [
      has('east'),
      {
        cluster: 'north',
        state: 'refused',
        hasAddress: false,
        refusal: { reason: 'NoAddress', message: 'cluster north: all 254 are in use' },
      },
    ],
    supercluster: ['Initialized False NoFreeAddress', 'Exported False Pending', 'Conflict False NoConflicts'],
    clusterset: ['Valid True Valid', 'Ready False Failed', 'Conflict False NoConflicts'],
    messages: /all 254 are in use/,
  },
  {
    name: 'MCS-162 a member refuses the name',
    deliveries: [
      has('east'),
      {
        cluster: 'old',
        state: 'refused',
        hasAddress: true,
        refusal: { reason: 'NameRefused', message: 'cluster old refuses the name' },
      },
    ],
    supercluster: ['Initialized True Initialized', 'Exported False Pending', 'Conflict False NoConflicts'],
    clusterset: ['Valid True Valid', 'Ready False Failed', 'Conflict False NoConflicts'],
    messages: /cluster old refuses/,
  },
  {
    name: 'MCS-20 no cluster has answered yet',
    deliveries: [],
    supercluster: ['Initialized True Initialized', 'Exported Unknown Pending', 'Conflict False NoConflicts'],
    clusterset: ['Valid True Valid', 'Ready Unknown Pending', 'Conflict False NoConflicts'],
  },
  {
    name: 'MCS-121 MCS-122 a conflict: withdrawn in the supercluster API, served in the clusterset API',
    west: conflicting,
    supercluster: ['Initialized True Initialized', 'Exported False Conflict', 'Conflict True PortConflict'],
    clusterset: ['Valid True Valid', 'Ready True Exported', 'Conflict True PortConflict'],
    messages:
      /spec.ports\[http\]: 80\/TCP in east, 8080\/TCP in west .*east came first; to fix it, in west: change port http to 80\/TCP/,
  },
  {
    name: 'MCS-123 Quarantine: without the newer export',
    west: conflicting,
    options: { conflictPolicy: 'Quarantine' },
    supercluster: ['Initialized True Initialized', 'Exported False Quarantined', 'Conflict True PortConflict'],
    clusterset: ['Valid True Valid', 'Ready True Exported', 'Conflict True PortConflict'],
  },
  {
    name: 'MCS-131 several reasons in the clusterset API, none in the supercluster API',
    west: { spec: { sessionAffinity: 'ClientIP', internalTrafficPolicy: 'Local' } },
    supercluster: fine,
    clusterset: [
      'Valid True Valid',
      'Ready True Exported',
      'Conflict True SessionAffinityConflict,InternalTrafficPolicyConflict',
    ],
  },
];

const summary = (conditions: ReturnType<typeof exportConditions>['supercluster']): readonly string[] =>
  conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);

describe('conditions of exports', () => {
  for (const { name, east, west, deliveries = all, options, supercluster, clusterset, messages: wanted } of rows) {
    test(name, () => {
      const merged = merge(web, [record('east', east), record('west', { day: 2, ...west })], options);
      const exporter = merged.exporters.find(({ cluster }) => cluster === 'west');
      assert.ok(exporter);
      const conditions = exportConditions(merged, exporter, deliveries);
      assert.deepEqual(summary(conditions.supercluster), supercluster);
      assert.deepEqual(summary(conditions.clusterset), clusterset);
      const messages = [...conditions.supercluster, ...conditions.clusterset].map(({ message }) => message);
      assert.ok(messages.every((message) => message !== ''));
      if (wanted !== undefined) assert.match(messages.join('\n'), wanted);
    });
  }

  test('MCS-123 reports the conflict on every export, not only on the newest', () => {
    const merged = merge(web, [record('east'), record('west', conflicting)]);
    for (const exporter of merged.exporters) {
      const { supercluster, clusterset } = exportConditions(merged, exporter, all);
      assert.equal(supercluster[2]?.status, 'True');
      assert.equal(clusterset[2]?.status, 'True');
    }
  });

  test('limits the message of many conflicts to the size of a condition', () => {
    const ports = (number: number) =>
      Array.from({ length: 80 }, (_, index) => ({ ...http, name: `p${index}`, port: 1000 * number + index }));
    const records = Array.from({ length: 60 }, (_, index) =>
      record(`cluster-with-a-rather-long-name-${index}`, { spec: { ports: ports((index % 60) + 1) } }),
    );
    const merged = merge(web, records);
    const [exporter] = merged.exporters;
    assert.ok(exporter);
    const message = exportConditions(merged, exporter, all).clusterset[2]?.message ?? '';
    assert.ok(message.length < 32_768);
    assert.match(message, /and \d+ more: fairlead mcs explain shows all/);
  });
});

describe('writes to exports', () => {
  const progress: Progress = { deliveries: all, isWithdrawn: false, now: '2026-03-01T00:00:00Z' };
  const held = { finalizers: ['other', exportFinalizer] };
  const leaving = { deletionTimestamp: '2026-02-01T00:00:00Z', ...held };

  const writesFor = (only: ClusterExport, given: Progress = progress) => {
    const merged = merge(web, [only]);
    const [exporter] = merged.exporters;
    assert.ok(exporter);
    return diffExports(merged, exporter, given);
  };
  const textOf = (writes: ReturnType<typeof diffExports>): readonly string[] =>
    writes.map(({ verb, kind, object }) => `${verb} ${kind.group} ${(object.metadata.finalizers ?? []).join()}`);

  test('MCS-21 writes the finalizer first, in both APIs', () => {
    assert.deepEqual(textOf(writesFor(record('east'))), [
      `update multicluster.k8s.io ${exportFinalizer}`,
      `update multicluster.x-k8s.io ${exportFinalizer}`,
    ]);
  });

  test('MCS-18 MCS-24 writes conditions once, without later writes or changed times', () => {
    const first = writesFor(record('east', { superclusterExport: superclusterExport(held), serviceExport: undefined }));
    assert.deepEqual(textOf(first), [`updateStatus multicluster.k8s.io other,${exportFinalizer}`]);
    const [write] = first;
    assert.ok(write);
    const written = write.object as ReturnType<typeof superclusterExport>;
    const later = { ...progress, now: '2026-04-01T00:00:00Z' };
    assert.deepEqual(writesFor(record('east', { superclusterExport: written, serviceExport: undefined }), later), []);
    const changed = writesFor(record('east', { superclusterExport: written, serviceExport: undefined }), {
      ...later,
      deliveries: [has('east'), { cluster: 'north', state: 'pending', hasAddress: true }],
    });
    assert.deepEqual(timesIn(changed[0]?.object), {
      Initialized: '2026-03-01T00:00:00Z',
      Exported: '2026-04-01T00:00:00Z',
      Conflict: '2026-03-01T00:00:00Z',
    });
  });

  test('keeps conditions of other controllers', () => {
    const status = { conditions: [{ type: 'Audited', status: 'True' }] };
    const [write] = writesFor(
      record('east', { superclusterExport: { ...superclusterExport(held), status }, serviceExport: undefined }),
    );
    assert.ok('Audited' in timesIn(write?.object));
  });

  test('MCS-21 keeps the finalizer until the export is withdrawn from all clusters', () => {
    const going = record('east', {
      superclusterExport: superclusterExport(leaving),
      serviceExport: serviceExport(leaving),
    });
    assert.deepEqual(writesFor(going), []);
    assert.deepEqual(textOf(writesFor(going, { ...progress, isWithdrawn: true })), [
      'update multicluster.k8s.io other',
      'update multicluster.x-k8s.io other',
    ]);
  });

  test('releases one of two exports at once, and keeps the conditions of the other', () => {
    const written = writesFor(record('east', { superclusterExport: undefined, serviceExport: serviceExport(held) }))[0]
      ?.object;
    const half = record('east', {
      superclusterExport: superclusterExport(leaving),
      serviceExport: written as ReturnType<typeof serviceExport>,
    });
    assert.deepEqual(textOf(writesFor(half)), ['update multicluster.k8s.io other']);
  });
});

function timesIn(object: ApiObject | undefined): Record<string, string> {
  const { status } = (object ?? { metadata: {} }) as ReturnType<typeof superclusterExport>;
  return Object.fromEntries(
    (status?.conditions ?? []).map(({ type, lastTransitionTime = '' }) => [type, lastTransitionTime]),
  );
}

test('exports of a leaving cluster report that, lose the finalizer, and are left alone', () => {
  const held = { finalizers: [exportFinalizer, 'example.org/other'] };
  const left = { cluster: 'west', now: '2026-03-01T00:00:00Z' };
  let west = record('west', { superclusterExport: superclusterExport(held), serviceExport: serviceExport(held) });
  const verbs: string[] = [];
  for (let step = 0; step < 3; step++) {
    for (const { verb, kind, object } of diffLeavingExports(west, left)) {
      verbs.push(`${verb} ${kind.group}`);
      west = { ...west, [kind.group === 'multicluster.k8s.io' ? 'superclusterExport' : 'serviceExport']: object };
    }
  }
  const groups = ['multicluster.k8s.io', 'multicluster.x-k8s.io'];
  assert.deepEqual(verbs, [
    ...groups.map((group) => `updateStatus ${group}`),
    ...groups.map((group) => `update ${group}`),
  ]);
  assert.deepEqual(west.superclusterExport?.metadata.finalizers, ['example.org/other']);
  assert.deepEqual(
    west.superclusterExport?.status?.conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
    ['Initialized False NotAMember', 'Exported False NotAMember', 'Conflict False NoConflicts'],
  );
});
