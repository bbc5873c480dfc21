import assert from 'node:assert/strict';
import { describe, suite, test } from 'node:test';

import { plan, withExport } from '../explain/plan.ts';
import type { ExportPlan } from '../explain/plan.ts';
import { emptyMember } from '../project/testing/actual.ts';
import type { ClusterExport } from '../record.ts';
import { http, member, record, service, web } from '../testing/records.ts';
import type { VipState } from '../vip/allocator.ts';
import { configurationOf } from './configuration.ts';
import { allowed, readReview } from './review.ts';
import { createWarnings, dryRunWarnings } from './warnings.ts';

const vip: VipState = { state: 'reserved', ips: ['241.0.0.7'], families: ['IPv4'] };
const importer = (id: string, namespaces?: ReadonlySet<string>) => ({
  facts: member(id, namespaces === undefined ? {} : { namespaces }),
  actual: emptyMember,
  vipFor: () => vip,
});
const planned = (added: ClusterExport, before: readonly ClusterExport[] = [], ids = ['east', 'west']): ExportPlan =>
  plan(web, { before, after: withExport(before, added), members: ids.map((id) => importer(id)) });

const east = record('east');
const other = record('west', { day: 2, spec: { ports: [{ ...http, port: 8080 }] } });
const conflict =
  'conflict over spec.ports[http]: 80/TCP in east, 8080/TCP in west (ports of one name must have the same number and protocol in all clusters); east came first; to fix it, in west: change port http to 80/TCP';

describe('warnings for an export', () => {
  const alias = record('west', { service: service({ type: 'ExternalName', externalName: 'example.org' }) });
  const cannot =
    'Service shop/web in cluster west is of type ExternalName, which cannot be exported: create an ExternalName Service in each cluster instead, or change its type';
  const absent = record('west', { service: undefined });
  const table: readonly {
    readonly name: string;
    readonly plan: ExportPlan;
    readonly dryRun: readonly string[];
    readonly create: readonly string[];
  }[] = [
    {
      name: 'a dry run of a first export: ports, addresses and writes; its creation: none',
      plan: planned(record('west')),
      dryRun: [
        'plan: imported with an address: http 80/TCP from west',
        'plan: in east: 241.0.0.7, slices: 1, objects: 3 created',
        'plan: in west: 241.0.0.7, slices: 1, objects: 3 created',
      ],
      create: [],
    },
    {
      name: 'a dry run of another export: the merged service before and after',
      plan: planned(record('west', { day: 2 }), [east], []),
      dryRun: [
        'plan: imported with an address: http 80/TCP from east and west (now with an address: http 80/TCP from east)',
      ],
      create: [],
    },
    {
      name: 'conflicts, for a dry run and a creation',
      plan: planned(other, [east], []),
      dryRun: [
        'plan: ServiceImport with an address: http 80/TCP from east (as now)',
        'plan: ImportedService withdrawn from all clusters until the conflict is resolved',
        conflict,
      ],
      create: [conflict],
    },
    {
      name: 'an invalid export, for a dry run and a creation',
      plan: planned(alias),
      dryRun: [`plan: nothing would be exported: ${cannot}`],
      create: [`nothing is exported: ${cannot}`],
    },
    {
      name: 'a missing Service, for a dry run only',
      plan: planned(absent),
      dryRun: [
        'plan: nothing would be exported: there is no Service shop/web in cluster west: create it to complete the export',
      ],
      create: [],
    },
    {
      name: 'members that would not import it',
      plan: plan(web, { before: [], after: [east], members: [importer('away', new Set())] }),
      dryRun: [
        'plan: imported with an address: http 80/TCP from east',
        'plan: in away: cluster away has no namespace shop: create it there to import the service',
      ],
      create: [],
    },
  ];
  for (const { name, plan: given, dryRun, create } of table) {
    test(name, () => {
      assert.deepEqual(dryRunWarnings(given, 'west'), dryRun);
      assert.deepEqual(createWarnings(given, 'west'), create);
    });
  }

  test('lists as many clusters as a response has room for', () => {
    const lines = dryRunWarnings(
      planned(
        record('west'),
        [],
        Array.from({ length: 50 }, (_, at) => `c${at}`),
      ),
      'west',
    );
    assert.equal(lines.length, 10);
    assert.equal(lines.at(-1), 'plan: and 42 more clusters: fairlead mcs plan shows all');
    assert.ok(lines.join('').length < 4096);
  });

  test('MCS-31 warns about namespaces that should not be exported', () => {
    const shared = { namespace: 'kube-system', name: 'web' };
    const given = plan(shared, { before: [], after: [], members: [] });
    assert.match(createWarnings(given, 'west')[0] ?? '', /^Services of namespace "kube-system" should not be exported/);
  });
});

suite('an AdmissionReview', () => {
  const request = { uid: 'u', operation: 'CREATE', namespace: 'shop', name: 'web', dryRun: true };
  const review = { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request };

  test('parses a review and allows it with warnings', () => {
    const read = readReview(review);
    assert.ok(read);
    assert.deepEqual([read.namespace, read.name, read.dryRun], ['shop', 'web', true]);
    assert.deepEqual(allowed(read, ['careful']), {
      kind: 'AdmissionReview',
      apiVersion: 'admission.k8s.io/v1',
      response: { uid: 'u', allowed: true, warnings: ['careful'] },
    });
  });

  for (const body of [undefined, null, [], {}, { ...review, kind: 'Pod' }, { ...review, request: { uid: 1 } }]) {
    test(`is not ${JSON.stringify(body)}`, () => assert.equal(readReview(body), undefined));
  }
});

test('configures a short timeout and ignores failures', () => {
  const [webhook] = configurationOf({ url: 'https://192.0.2.1:9443/exports/east', ca: 'CA' }).webhooks ?? [];
  assert.equal(webhook?.failurePolicy, 'Ignore');
  assert.equal(webhook.sideEffects, 'None');
  assert.ok((webhook.timeoutSeconds ?? 10) <= 5);
  assert.deepEqual(
    webhook.rules?.map(({ apiGroups, apiVersions }) => `${apiGroups?.[0] ?? ''}/${apiVersions?.[0] ?? ''}`),
    ['multicluster.k8s.io/v1alpha1', 'multicluster.x-k8s.io/v1beta1', 'multicluster.x-k8s.io/v1alpha1'],
  );
});
