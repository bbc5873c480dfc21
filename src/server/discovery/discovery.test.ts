import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Kind } from '../../api/kind.ts';
import { defineKind } from '../../api/kind.ts';
import { tokenRequestKind } from '../../api/kinds/authentication/tokenrequest/kind.ts';
import { objectSchema } from '../../api/metadata.ts';
import { aggregatedDiscovery } from './aggregated.ts';
import { compareVersions, groupsOf } from './groups.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from './legacy.ts';
import { versionDocument } from './version.ts';

const kind = (given: Partial<Kind> & Pick<Kind, 'group' | 'version' | 'kind' | 'plural'>): Kind =>
  defineKind({
    namespaced: true,
    schema: objectSchema(`io.example.${given.version}.${given.kind}`, 'A kind.', {}),
    nameErrors: () => [],
    ...given,
  });

const kinds: readonly Kind[] = [
  kind({ group: 'example.org', version: 'v1alpha1', kind: 'Thing', plural: 'things', custom: true }),
  kind({ group: 'example.org', version: 'v1', kind: 'Thing', plural: 'things', custom: true }),
  kind({ group: 'discovery.k8s.io', version: 'v1', kind: 'EndpointSlice', plural: 'endpointslices' }),
  kind({ group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', categories: ['all'] }),
  kind({ group: '', version: 'v1', kind: 'Service', plural: 'services', shortNames: ['svc'], hasStatus: true }),
  kind({
    group: '',
    version: 'v1',
    kind: 'Namespace',
    plural: 'namespaces',
    namespaced: false,
    hasStatus: true,
    subresources: [{ name: 'finalize', verbs: ['update'] }],
  }),
  kind({
    group: '',
    version: 'v1',
    kind: 'ServiceAccount',
    plural: 'serviceaccounts',
    subresources: [{ name: 'token', verbs: ['create'], body: tokenRequestKind }],
  }),
];

interface Resource {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly storageVersionHash?: string;
}
const body = <T>(document: { readonly body: string } | undefined): T => JSON.parse(document?.body ?? 'null') as T;

test('stable versions come before beta, beta before alpha, higher numbers first', () => {
  const versions = ['v1alpha1', 'v2beta1', 'v1', 'foo', 'v10', 'v1beta2', 'v1beta1', 'v2'];
  assert.deepEqual(versions.toSorted(compareVersions), [
    'v10',
    'v2',
    'v1',
    'v2beta1',
    'v1beta2',
    'v1beta1',
    'v1alpha1',
    'foo',
  ]);
});

test('groups are in the order by which kubectl resolves names', () => {
  assert.deepEqual(
    groupsOf(kinds).map(({ name }) => name),
    ['', 'apps', 'discovery.k8s.io', 'example.org'],
  );
});

test('/apis lists every group but the core one, with the preferred version', () => {
  const { groups } = body<{ groups: { name: string; preferredVersion: { version: string } }[] }>(apiGroupList(kinds));
  assert.deepEqual(
    groups.map(({ name, preferredVersion }) => `${name} ${preferredVersion.version}`),
    ['apps v1', 'discovery.k8s.io v1', 'example.org v1'],
  );
});

test('/apis/{group} exists for known groups only', () => {
  assert.deepEqual(body(apiGroup(kinds, 'example.org')), {
    kind: 'APIGroup',
    apiVersion: 'v1',
    name: 'example.org',
    versions: [
      { groupVersion: 'example.org/v1', version: 'v1' },
      { groupVersion: 'example.org/v1alpha1', version: 'v1alpha1' },
    ],
    preferredVersion: { groupVersion: 'example.org/v1', version: 'v1' },
  });
  assert.equal(apiGroup(kinds, 'other'), undefined);
  assert.equal(apiGroup(kinds, ''), undefined);
});

test('/api/v1 lists resources and subresources', () => {
  const { resources } = body<{ resources: Resource[] }>(apiResourceList(kinds, 'v1'));
  assert.deepEqual(
    resources.map(({ name, verbs }) => `${name} ${verbs.length}`),
    [
      'namespaces 8',
      'namespaces/finalize 1',
      'namespaces/status 3',
      'serviceaccounts 8',
      'serviceaccounts/token 1',
      'services 8',
      'services/status 3',
    ],
  );
  // As kube-apiserver computes it.
  assert.equal(resources.find(({ name }) => name === 'services')?.storageVersionHash, '0/CO1lhkEBI=');
  assert.deepEqual(
    resources.find(({ name }) => name === 'serviceaccounts/token'),
    {
      name: 'serviceaccounts/token',
      singularName: '',
      namespaced: true,
      kind: 'TokenRequest',
      group: 'authentication.k8s.io',
      version: 'v1',
      verbs: ['create'],
    },
  );
  assert.equal(apiResourceList(kinds, 'apps/v2'), undefined);
});

test('aggregated discovery has its content type, and the core group is separate', () => {
  const core = aggregatedDiscovery(kinds, 'core', 'v2');
  assert.equal(core.contentType, 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList');
  assert.match(core.etag, /^"[0-9A-F]{128}"$/);
  const { items } = body<{ items: { metadata: object; versions: { resources: object[] }[] }[] }>(core);
  assert.deepEqual(items[0]?.metadata, { creationTimestamp: null });
  assert.deepEqual(items[0]?.versions[0]?.resources.at(-1), {
    resource: 'services',
    responseKind: { group: '', version: 'v1', kind: 'Service' },
    scope: 'Namespaced',
    singularResource: 'service',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    shortNames: ['svc'],
    subresources: [
      {
        subresource: 'status',
        responseKind: { group: '', version: 'v1', kind: 'Service' },
        verbs: ['get', 'patch', 'update'],
      },
    ],
  });
  const beta = aggregatedDiscovery(kinds, 'groups', 'v2beta1');
  assert.equal(body<{ apiVersion: string }>(beta).apiVersion, 'apidiscovery.k8s.io/v2beta1');
  assert.equal(body<{ items: unknown[] }>(beta).items.length, 3);
});

test('documents are built once', () => {
  assert.equal(aggregatedDiscovery(kinds, 'core', 'v2'), aggregatedDiscovery(kinds, 'core', 'v2'));
});

test('/api and /version', () => {
  assert.match(apiVersions('127.0.0.1:6443').body, /"serverAddress":"127.0.0.1:6443"/);
  const version = body<Record<string, string>>(versionDocument('0.1.0'));
  assert.equal(version['gitVersion'], 'v1.35.0+fairlead.0.1.0');
});
