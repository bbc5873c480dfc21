import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { merge } from '../merge/merge.ts';
import type { Merged } from '../merge/merged.ts';
import { emptyMember, settle } from '../project/testing/actual.ts';
import { project } from '../project/project.ts';
import type { ClusterExport } from '../record.ts';
import { endpoint, headless, http, member, record, service, sourceSlice, web } from '../testing/records.ts';
import { AddressAllocator } from '../vip/allocator.ts';
import { poolOf } from '../vip/pool.ts';
import type { VipState } from '../vip/allocator.ts';
import { explain, explanationText } from './explain.ts';
import type { PlanMember } from './plan.ts';
import { hypotheticalExport, plan, planText, withExport, withoutExport } from './plan.ts';
import type { StepName, WhyInput } from './why.ts';
import { why, whyText } from './why.ts';

const east = record('east');
const west = record('west', { day: 2 });
const conflicting = record('west', { day: 2, spec: { ports: [{ ...http, port: 8080 }] } });
const vip: VipState = { state: 'reserved', ips: ['241.0.0.7'], families: ['IPv4'] };

describe('explain', () => {
  test('MCS-129 MCS-137 prints conflicts with values, clusters, winner and fix', () => {
    assert.equal(
      explanationText(explain(merge(web, [east, conflicting, record('north', { service: undefined })]))),
      [
        'shop/web',
        '  east   merged   since 2026-01-01T00:00:00Z',
        '  west   merged   since 2026-01-02T00:00:00Z',
        '  north  invalid  since 2026-01-01T00:00:00Z  there is no Service shop/web in cluster north: create it to complete the export',
        '  ImportedService  withdrawn from all clusters until the conflict is resolved',
        '  ServiceImport    with an address: http 80/TCP from east',
        'conflict over spec.ports[http]',
        '  ports of one name must have the same number and protocol in all clusters',
        '    east  80/TCP    since 2026-01-01T00:00:00Z  came first',
        '    west  8080/TCP  since 2026-01-02T00:00:00Z',
        '  to fix it, in west: change port http to 80/TCP',
        'to change a port, add the new one under a name of its own in each cluster, then remove the old one; or export a new Service',
      ].join('\n'),
    );
  });

  test('MCS-137 returns the same facts as JSON', () => {
    const explanation = explain(merge(web, [east, conflicting]));
    assert.deepEqual(JSON.parse(JSON.stringify(explanation)), explanation);
    assert.equal(explanation.views.supercluster.state, 'withdrawn');
    assert.deepEqual(explanation.conflicts[0]?.losers, ['west']);
  });

  test('nothing is exported', () => {
    const text = explanationText(explain(merge(web, [])));
    assert.match(text, /no cluster exports it: create a ServiceExport of that name/);
    assert.match(text, /ServiceImport {4}none/);
  });

  test('a quarantined cluster and a headless service', () => {
    const merged = merge(web, [record('east', { spec: headless }), west], { conflictPolicy: 'Quarantine' });
    const text = explanationText(explain(merged));
    assert.match(text, /west {2}quarantined/);
    assert.match(text, /ImportedService {2}headless: http 80\/TCP from east/);
  });
});

describe('plan', () => {
  const pool = poolOf(['241.0.0.0/24']);
  const importer = (id: string, rest: Parameters<typeof member>[1] = {}): PlanMember => ({
    facts: member(id, rest),
    actual: emptyMember,
    vipFor: ({ views }: Merged) => new AddressAllocator(pool).preview('shop/web', views.clusterset?.families ?? []),
  });
  const members = [importer('east'), importer('west'), importer('away', { namespaces: new Set() })];
  const added = hypotheticalExport(web, {
    cluster: 'west',
    now: '2026-05-01T00:00:00Z',
    service: service(),
    slices: [sourceSlice('a')],
  });

  test('plans a first export: ports, addresses, importers and writes', () => {
    const planned = plan(web, { before: [], after: withExport([], added), members });
    assert.equal(planned.before.views.clusterset.state, 'absent');
    assert.deepEqual(planned.after.views.clusterset.ports, [{ name: 'http', port: '80/TCP', clusters: ['west'] }]);
    assert.deepEqual(planned.newConflicts, []);
    const [first, , away] = planned.importers;
    assert.equal(first?.ips.length, 1);
    assert.deepEqual([first?.writes, first?.slices], [{ create: 3, update: 0, delete: 0 }, 1]);
    assert.deepEqual([away?.refusals[0]?.reason, away?.writes.create], ['NamespaceAbsent', 0]);
  });

  test('plans the writes that are made, also with a stock proxy', () => {
    for (const hasStockProxy of [false, true]) {
      const planned = plan(web, { before: [], after: [east, west], members: [importer('n', { hasStockProxy })] });
      const { writes } = settle(merge(web, [east, west]), {
        member: member('n', { hasStockProxy }),
        actual: emptyMember,
        vip,
      });
      const count = (wanted: string): number => writes.filter(({ verb }) => verb === wanted).length;
      assert.deepEqual(planned.importers[0]?.writes, { create: count('create'), update: count('update'), delete: 0 });
    }
  });

  test('plans a conflicting export, which withdraws the supercluster view', () => {
    const { actual } = settle(merge(web, [east]), { member: member('east'), actual: emptyMember, vip });
    const planned = plan(web, {
      before: [east],
      after: withExport([east], { ...added, service: service({ ports: [{ ...http, port: 8080 }] }) }),
      members: [{ facts: member('east'), actual, vipFor: () => vip }],
    });
    assert.deepEqual(
      planned.newConflicts.map(({ field }) => field),
      ['spec.ports[http]'],
    );
    assert.equal(planned.after.views.supercluster.state, 'withdrawn');
    assert.equal(planned.importers[0]?.writes.delete, 1);
    const text = planText(planned);
    assert.match(text, /this would cause conflicts:\nconflict over spec.ports\[http\]/);
    assert.match(text, /→ {2}withdrawn from all clusters/);
  });

  test('plans an invalid export', () => {
    const planned = plan(web, { before: [], after: withExport([], { ...added, service: undefined }), members });
    assert.equal(
      planText(planned),
      'shop/web\n  nothing would be exported: there is no Service shop/web in cluster west: create it to complete the export',
    );
  });

  test('plans a withdrawal that resolves a conflict', () => {
    const planned = plan(web, {
      before: [east, conflicting],
      after: withoutExport([east, conflicting], 'west'),
      members,
    });
    assert.deepEqual(planned.newConflicts, []);
    assert.match(planText(planned), /this would resolve conflicts over spec.ports\[http\]/);
    assert.equal(planned.after.views.supercluster.state, 'served');
  });
});

describe('why', () => {
  const north = member('north');
  const members = [member('east'), north, member('west')];
  const healthy = new Map([
    ['east', 'healthy'],
    ['west', 'healthy'],
  ] as const);
  const name = 'web.shop.svc.clusterset.local.';

  /** The input after all writes. */
  function settledInput(records: readonly ClusterExport[], rest: Partial<WhyInput> = {}): WhyInput {
    const merged = merge(web, records);
    const from = rest.from ?? north;
    const { actual, desired } = settle(merged, { member: from, actual: emptyMember, vip });
    const dns = { name, addresses: ['241.0.0.7'] };
    return { merged, api: 'clusterset', from, members, desired, actual, leases: healthy, dns, ...rest };
  }

  const notReady = [sourceSlice('a', { endpoints: [endpoint('10.0.0.1', { conditions: { ready: false } })] })];
  const fresh = merge(web, [east]);
  const eastLost = new Map([['east', 'expired']] as const);
  const eastAway = [member('east', { isConnected: false }), north];
  const rows: readonly {
    readonly name: string;
    readonly input: WhyInput;
    readonly broken: StepName | undefined;
    readonly messages: RegExp;
  }[] = [
    {
      name: 'finds nothing wrong',
      input: settledInput([east, west]),
      broken: undefined,
      messages: /found no problem with shop\/web in north/,
    },
    {
      name: 'no cluster exports it',
      input: settledInput([]),
      broken: 'export',
      messages: /no cluster exports shop\/web/,
    },
    {
      name: 'the cluster cannot be reached',
      input: settledInput([east], { from: member('north', { isConnected: false }) }),
      broken: 'members',
      messages: /cluster north cannot be reached/,
    },
    {
      name: 'there is no Service',
      input: settledInput([record('east', { service: undefined })]),
      broken: 'valid',
      messages: /no Service shop\/web in cluster east/,
    },
    {
      name: 'it is withdrawn because of a conflict',
      input: settledInput([east, conflicting], { api: 'supercluster' }),
      broken: 'merged',
      messages: /in west: change port http to 80\/TCP/,
    },
    {
      name: 'MCS-109 the namespace is absent',
      input: settledInput([east], { from: member('north', { namespaces: new Set() }) }),
      broken: 'namespace',
      messages: /has no namespace shop: create it there/,
    },
    {
      name: 'the kind is not served',
      input: settledInput([east], { from: member('north', { serves: { supercluster: true, clusterset: false } }) }),
      broken: 'import',
      messages: /does not serve ServiceImport/,
    },
    {
      name: 'the import is not written yet',
      input: settledInput([east], {
        actual: emptyMember,
        desired: project(fresh, { member: north, actual: emptyMember, vip }),
      }),
      broken: 'import',
      messages: /ServiceImport has not been written to north yet/,
    },
    {
      name: 'MCS-45 no address is free',
      input: (() => {
        const full: VipState = { state: 'exhausted', family: 'IPv4', message: 'all are in use' };
        const { actual, desired } = settle(fresh, { member: north, actual: emptyMember, vip: full });
        return settledInput([east], { actual, desired });
      })(),
      broken: 'address',
      messages: /all are in use/,
    },
    {
      name: 'there are no endpoints',
      input: settledInput([record('east', { slices: [] })]),
      broken: 'slices',
      messages: /no endpoints in east: check the Pods of the Service there/,
    },
    {
      name: 'T3 its endpoints are dropped',
      input: settledInput([record('east', { slices: [] })], {
        dropped: [{ ...web, cluster: 'east', what: 'endpoint', message: 'endpoint 10.0.0.1 is in 10.0.0.0/8' }],
      }),
      broken: 'slices',
      messages: /broken +slices +left out: endpoint 10\.0\.0\.1 is in 10\.0\.0\.0\/8$/m,
    },
    {
      name: 'MCS-83 one source is lost, and the other has no endpoints',
      input: (() => {
        const { actual, ...input } = settledInput([east, record('west', { slices: [] })], { leases: eastLost });
        return { ...input, merged: merge(web, [record('west', { slices: [] })]), actual: { ...actual, slices: [] } };
      })(),
      broken: 'slices',
      messages: /no endpoints in west: .* there; those of east were deleted when the connection was lost$/m,
    },
    {
      name: 'no endpoint is ready',
      input: settledInput([record('east', { slices: notReady })]),
      broken: 'slices',
      messages: /none of 1 endpoints is ready in east$/m,
    },
    {
      name: 'MCS-83 the source is lost and cannot be read',
      input: {
        ...settledInput([east], { leases: eastLost, members: eastAway }),
        merged: merge(web, []),
        actual: { ...settledInput([east]).actual, slices: [] },
      },
      broken: 'lease',
      messages: /the connection to east is lost, and its endpoints were removed/,
    },
    {
      name: 'the source is lost, and its endpoints are kept',
      input: { ...settledInput([east], { leases: eastLost, members: eastAway }), merged: merge(web, []) },
      broken: undefined,
      messages: /the connection to east is lost; its endpoints are still used/,
    },
    {
      name: 'DNS does not serve the zone',
      input: settledInput([east], { dns: { name, addresses: [] } }),
      broken: 'dns',
      messages: /does not resolve/,
    },
    {
      name: 'DNS returns another address',
      input: settledInput([east], { dns: { name, addresses: ['10.96.0.1'] } }),
      broken: 'dns',
      messages: /resolves to 10.96.0.1 and not to 241.0.0.7/,
    },
  ];
  for (const { name: title, input, broken, messages } of rows) {
    test(title, () => {
      const reasons = why(input);
      assert.equal(reasons.broken, broken, whyText(reasons));
      assert.match(whyText(reasons), messages);
      assert.ok(reasons.steps.every(({ message }) => message !== ''));
    });
  }

  test('steps after the broken one are not reached', () => {
    const nothing = { name, addresses: [] };
    for (const input of [
      settledInput([], { dns: nothing }),
      settledInput([record('east', { service: undefined, slices: [] })], { dns: nothing }),
      // Several steps are wrong: the namespace is absent, and DNS does not resolve.
      settledInput([east], { from: member('north', { namespaces: new Set() }), dns: nothing }),
    ]) {
      const { steps, broken } = why(input);
      const at = steps.findIndex(({ step }) => step === broken);
      assert.ok(at >= 0);
      assert.ok(steps.slice(0, at).every(({ state }) => state === 'ok' || state === 'unknown'));
      assert.ok(steps.slice(at + 1).every(({ state }) => state === 'not reached'));
    }
  });

  test('distinguishes a lost controller from a lost source', () => {
    const leases = new Map([
      ['east', 'expired'],
      ['north', 'expired'],
    ] as const);
    const { steps } = why(settledInput([east], { leases }));
    const message = 'no controller renews the leases in north: start `fairlead multicluster`, or read its log';
    assert.deepEqual(
      steps.find(({ step }) => step === 'lease'),
      { step: 'lease', state: 'broken', message },
    );
  });

  test('returns all steps in order', () => {
    assert.deepEqual(
      why(settledInput([east])).steps.map(({ step }) => step),
      ['members', 'export', 'valid', 'merged', 'namespace', 'import', 'address', 'slices', 'lease', 'dns'],
    );
  });
});
