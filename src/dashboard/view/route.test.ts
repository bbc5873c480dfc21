import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterId, importId, parseId, serviceId } from './ids.ts';
import { linkTo, linkToRow, listIn, listText, parseRoute } from './route.ts';

test('a link and its route are inverse, whatever the names contain', () => {
  const route = {
    page: 'service',
    cluster: 'a/b',
    namespace: '<i>',
    name: '%2F#?&',
    query: new Map([['q', 'x=1&y']]),
  } as const;
  assert.deepEqual(parseRoute(linkTo(route)), route);
});

const cases = [
  { name: 'nothing is the overview', hash: '', want: 'overview' },
  { name: 'an unknown page is the overview', hash: '#/nowhere/at/all', want: 'overview' },
  { name: 'a malformed escape is text', hash: '#/service/%E0%A4%A', want: 'service' },
] as const;
for (const { name, hash, want } of cases) {
  test(name, () => assert.equal(parseRoute(hash).page, want));
}

test('rows have links', () => {
  assert.equal(linkToRow('service/east/shop/web'), '#/service/east/shop/web');
  assert.equal(linkToRow('import/east/shop/web'), '#/import/east/shop/web');
  assert.equal(linkToRow('cluster/east'), '#/map?clusters=east');
});

test('clusters may have names of contexts, such as those of EKS and OpenShift', () => {
  const cluster = 'arn:aws:eks:eu-west-1:1:cluster/prod, 100%';
  for (const [kind, id] of [
    ['service', serviceId(cluster, 'shop/web')],
    ['import', importId(cluster, 'shop/web')],
  ] as const) {
    assert.deepEqual(parseId(id), { kind, cluster, namespace: 'shop', name: 'web' });
    const { page, ...route } = parseRoute(linkToRow(id));
    assert.deepEqual([page, route.cluster, route.name], [kind, cluster, 'web']);
  }
  const { query } = parseRoute(linkToRow(clusterId(cluster)));
  assert.deepEqual(listIn(query.get('clusters')), [cluster]);
  assert.deepEqual(listIn(listText([cluster, 'a,b'])), [cluster, 'a,b']);
  assert.deepEqual(listIn(), []);
});
