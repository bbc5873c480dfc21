import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { ApiService } from '../../api/kinds/apiregistration/apiservice/schema.ts';
import { kindFor } from '../../api/kinds/registry.ts';
import { issueCa } from '../pki/issue.ts';
import { authenticationData } from './authentication-config.ts';
import { userHeaders } from './backend.ts';
import { mergedGroup, mergedGroupList, resourcesOf } from './discovery.ts';
import { hashInIndex, mergedSwagger, partFor } from './openapi.ts';
import { planRegistrations } from './registrations.ts';
import { jsonDocument } from '../discovery/document.ts';

const apps = kindFor('apps', 'v1', 'deployments') ?? assert.fail();
const custom = { ...apps, group: 'example.org', source: () => '' };
const label = 'kube-aggregator.kubernetes.io/automanaged';

const stored = (name: string, managed: string | undefined, spec: object = {}): ApiService => {
  const [version = '', ...group] = name.split('.');
  return {
    metadata: { name, ...(managed === undefined ? {} : { labels: { [label]: managed } }) },
    spec: { group: group.join('.'), version, groupPriorityMinimum: 1000, versionPriority: 100, ...spec },
    status: {},
  };
};
const right = { groupPriorityMinimum: 17_800, versionPriority: 15 };

suite('APIServices of the server itself', () => {
  const rows: readonly {
    readonly name: string;
    readonly stored: readonly ApiService[];
    readonly isStart?: boolean;
    readonly isAlone?: boolean;
    readonly ensure?: readonly string[];
    readonly remove?: readonly string[];
  }[] = [
    { name: 'are created at the start', stored: [], isStart: true, ensure: ['v1.apps', 'v1.example.org'] },
    { name: 'of own kinds are not created again later', stored: [], ensure: ['v1.example.org'] },
    {
      name: 'are left as they are when they are right',
      stored: [stored('v1.apps', 'onstart', right), stored('v1.example.org', 'true')],
      isStart: true,
    },
    {
      name: 'are restored',
      stored: [stored('v1.apps', 'onstart'), stored('v1.example.org', 'true', { versionPriority: 1 })],
      isStart: true,
      ensure: ['v1.apps', 'v1.example.org'],
    },
    {
      name: 'without the label are left to users',
      stored: [stored('v1.apps', undefined), stored('v1.example.org', undefined), stored('v1.other.org', undefined)],
      isStart: true,
    },
    {
      name: 'that nothing serves are removed',
      stored: [stored('v1.example.org', 'true'), stored('v1.old.org', 'true'), stored('v1.older.org', 'onstart')],
      remove: ['v1.old.org'],
    },
    {
      name: 'of kinds that a later release does not serve are removed at the start',
      stored: [
        stored('v1.apps', 'onstart', right),
        stored('v1.example.org', 'true'),
        stored('v1.older.org', 'onstart'),
      ],
      isStart: true,
      remove: ['v1.older.org'],
    },
    {
      name: 'of another server of the store stay',
      stored: [
        stored('v1.apps', 'onstart', right),
        stored('v1.example.org', 'true'),
        stored('v1.older.org', 'onstart'),
      ],
      isStart: true,
      isAlone: false,
    },
  ];
  for (const { name, stored: objects, isStart = false, isAlone = true, ensure = [], remove = [] } of rows) {
    test(name, () => {
      const plan = planRegistrations([apps, custom], objects, { isStart, isAlone });
      assert.deepEqual({ ensure: plan.ensure.map((each) => each.name), remove: plan.remove }, { ensure, remove });
    });
  }
});

test('headers name the user in UTF-8, and keys of extra are percent-encoded', () => {
  const user = { name: 'jürgen', uid: '7', groups: ['a', 'b, c'], extra: { 'example.org/größe %': ['x', 'y'] } };
  assert.deepEqual(userHeaders(user), {
    'x-remote-user': Buffer.from('jürgen').toString('latin1'),
    'x-remote-uid': '7',
    'x-remote-group': ['a', 'b, c'],
    'x-remote-extra-example.org%2Fgr%C3%B6%C3%9Fe%20%25': ['x', 'y'],
  });
});

test('the authorities of other servers are kept until they expire', async () => {
  const now = new Date();
  const [own, other, old] = await Promise.all([
    issueCa('own', { now, days: 1 }),
    issueCa('other', { now, days: 1 }),
    issueCa('old', { now: new Date(now.getTime() - 10 * 86_400_000), days: 1 }),
  ]);
  const data = authenticationData(
    { clientCa: own.cert, frontProxyCa: undefined },
    { old: { 'client-ca-file': [old.cert, other.cert, own.cert].join('\n'), kept: 'yes' }, now },
  );
  const lines = (pem: string): readonly string[] => pem.trim().split(/\s*\n/);
  assert.deepEqual(lines(data['client-ca-file'] ?? ''), [...lines(other.cert), ...lines(own.cert)]);
  assert.equal(data['kept'], 'yes');
  const damaged = authenticationData(
    { clientCa: own.cert, frontProxyCa: own.cert },
    { old: { 'client-ca-file': 'x' }, now },
  );
  assert.deepEqual(lines(damaged['client-ca-file'] ?? ''), lines(own.cert));
});

suite('documents of other servers', () => {
  const place = { group: 'example.org', version: 'v1' };
  test('that are no discovery are rejected', () => {
    for (const text of ['', 'null', '[]', '{}', '{"kind":"APIResourceList"}', '<html>']) {
      assert.throws(() => resourcesOf(text, place), text);
    }
  });

  test('can have any value in any field', () => {
    const resources = [null, {}, 7, { name: 7 }, { name: 'a', verbs: 'get', shortNames: [1, 'x'], namespaced: 'yes' }];
    assert.deepEqual(resourcesOf(JSON.stringify({ kind: 'APIResourceList', resources }), place), [
      {
        resource: 'a',
        responseKind: { ...place, kind: '' },
        scope: 'Cluster',
        singularResource: '',
        verbs: [],
        shortNames: ['x'],
      },
    ]);
  });

  const remote = { ...place, groupPriority: 17_000, versionPriority: 50, resources: [], isCurrent: true };
  test('are in the order of priorities', () => {
    const own = jsonDocument({
      groups: ['apps', 'policy', 'shop.example.org'].map((name) => ({ name, versions: [] })),
    });
    const { groups } = JSON.parse(
      mergedGroupList(own, [remote, { ...remote, group: 'low.org', groupPriority: 1 }]).body,
    ) as {
      groups: readonly { readonly name: string }[];
    };
    assert.deepEqual(
      groups.map(({ name }) => name),
      ['apps', 'policy', 'example.org', 'shop.example.org', 'low.org'],
    );
  });

  test('add versions to a group of this server', () => {
    const own = jsonDocument({
      name: 'example.org',
      versions: [{ version: 'v1beta1', groupVersion: 'example.org/v1beta1' }],
    });
    const { versions, preferredVersion } = JSON.parse(mergedGroup(own, 'example.org', [remote])?.body ?? '') as {
      versions: readonly { readonly version: string }[];
      preferredVersion: { readonly version: string };
    };
    assert.deepEqual(
      versions.map(({ version }) => version),
      ['v1beta1', 'v1'],
    );
    assert.equal(preferredVersion.version, 'v1beta1');
  });

  test('get other names for definitions that differ', () => {
    const own = jsonDocument({ paths: { '/api': 1 }, definitions: { A: { type: 'string' }, B: { type: 'object' } } });
    const text = JSON.stringify({
      paths: { '/apis/example.org/v1/things': { $ref: '#/definitions/A' }, '/apis/example.org/v10/x': {} },
      definitions: { A: { items: { $ref: '#/definitions/B' } }, B: { type: 'object' }, C: {} },
    });
    assert.deepEqual(JSON.parse(mergedSwagger(own, [partFor(text, place)]).body), {
      paths: { '/api': 1, '/apis/example.org/v1/things': { $ref: '#/definitions/A_v2' } },
      definitions: { A: { type: 'string' }, B: { type: 'object' }, A_v2: { items: { $ref: '#/definitions/B' } } },
    });
  });

  test('have a hash in the index of OpenAPI v3, or none', () => {
    const index = (url: unknown): string =>
      JSON.stringify({ paths: { 'apis/example.org/v1': { serverRelativeURL: url } } });
    assert.equal(hashInIndex(index('/openapi/v3/apis/example.org/v1?hash=AB'), 'apis/example.org/v1'), 'AB');
    assert.equal(hashInIndex(index('/openapi/v3/apis/example.org/v1'), 'apis/example.org/v1'), '');
    assert.equal(hashInIndex(index(7), 'apis/example.org/v1'), undefined);
    assert.equal(hashInIndex('{}', 'apis/example.org/v1'), undefined);
  });
});
