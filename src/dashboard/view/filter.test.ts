import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importRowOf, serviceRowOf } from '../testing/rows.ts';
import type { Filter } from './filter.ts';
import { matcherOf } from './filter.ts';

const rows = [
  serviceRowOf('east', 'shop/web', { labels: { app: 'Web', tier: 'front' }, addresses: ['10.0.0.7'] }),
  serviceRowOf('east', 'shop/db', { type: 'ExternalName', externalName: 'db.example.org', addresses: [] }),
  serviceRowOf('east', 'pay/web', {
    type: 'LoadBalancer',
    external: ['192.0.2.1'],
    exported: 'conflict',
    findings: [{ level: 'error', reason: 'Conflict', text: '' }],
  }),
  serviceRowOf('east', 'pay/api', {
    published: ['api.example.org'],
    findings: [{ level: 'warning', reason: 'NoEndpoints', text: '' }],
  }),
  importRowOf('west', 'pay/web', ['east']),
];
const all = { text: '', namespace: '', selection: 'all' } as const;

const cases: readonly { readonly name: string; readonly filter: Partial<Filter>; readonly want: readonly string[] }[] =
  [
    { name: 'part of a name', filter: { text: 'we' }, want: ['shop/web', 'pay/web', 'import pay/web'] },
    { name: 'a name in upper case', filter: { text: 'WEB' }, want: ['shop/web', 'pay/web', 'import pay/web'] },
    { name: 'namespace and name', filter: { text: 'shop/web' }, want: ['shop/web'] },
    { name: 'several words', filter: { text: 'web 10.0.0' }, want: ['shop/web', 'pay/web'].slice(0, 2) },
    { name: 'an external address', filter: { text: '192.0.2.1' }, want: ['pay/web'] },
    { name: 'an external name', filter: { text: 'db.example' }, want: ['shop/db'] },
    { name: 'a published name', filter: { text: 'api.example.org' }, want: ['pay/api'] },
    { name: 'a DNS name', filter: { text: 'web.shop.svc.cluster.local' }, want: ['shop/web'] },
    {
      name: 'an SRV name',
      filter: { text: '_http._tcp.web.pay.svc.supercluster.local' },
      want: ['pay/web', 'import pay/web'],
    },
    { name: 'a label', filter: { text: 'app=web' }, want: ['shop/web'] },
    { name: 'a label with another value', filter: { text: 'app=db' }, want: [] },
    { name: 'a namespace', filter: { namespace: 'shop' }, want: ['shop/web', 'shop/db'] },
    { name: 'problems', filter: { selection: 'problems' }, want: ['pay/web', 'pay/api'] },
    { name: 'errors', filter: { selection: 'errors' }, want: ['pay/web'] },
    { name: 'conflicts', filter: { selection: 'conflicts' }, want: ['pay/web'] },
    { name: 'Services without ready endpoints', filter: { selection: 'unready' }, want: ['pay/api'] },
    { name: 'what is shared', filter: { selection: 'shared' }, want: ['pay/web', 'import pay/web'] },
    { name: 'what is reachable from outside', filter: { selection: 'outside' }, want: ['pay/web', 'pay/api'] },
  ];
for (const { name, filter, want } of cases) {
  test(`a filter finds ${name}`, () => {
    const found = rows.filter(matcherOf({ ...all, ...filter }));
    assert.deepEqual(
      found.map((row) => `${row.kind === 'import' ? 'import ' : ''}${row.namespace}/${row.name}`),
      want,
    );
  });
}
