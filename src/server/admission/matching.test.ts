import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { Kind } from '../../api/kind.ts';
import type { Webhook } from '../../api/kinds/admissionregistration/webhook-schema.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { serviceExportAlphaKind, serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import type { AdmissionAttributes } from './attributes.ts';
import { matchedKind } from './matching.ts';

const onServices = { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['services'] };

const webhook = (rule: object, more: Partial<Webhook> = {}): Webhook => ({
  name: 'policy.example.org',
  clientConfig: {},
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  rules: [{ ...onServices, ...rule }],
  ...more,
});

const attributes = (more: Partial<AdmissionAttributes> = {}): AdmissionAttributes => ({
  operation: 'CREATE',
  kind: serviceKind,
  equivalents: () => [],
  subresource: '',
  object: { metadata: { namespace: 'shop', name: 'cart', labels: { app: 'cart' } } },
  old: undefined,
  user: { name: 'alice', uid: '', groups: [] },
  dryRun: false,
  options: {},
  ...more,
});

const labels = (namespace: string) => (namespace === 'shop' ? { team: 'shop' } : undefined);
const exports = (versions: readonly string[]) => ({
  apiGroups: ['multicluster.x-k8s.io'],
  apiVersions: versions,
  resources: ['serviceexports'],
});

suite('a webhook matches', () => {
  const team = (value: string) => ({ namespaceSelector: { matchLabels: { team: value } } });
  const app = (value: string) => ({ objectSelector: { matchLabels: { app: value } } });
  const table: readonly (readonly [name: string, Webhook, AdmissionAttributes, want: Kind | undefined])[] = [
    ['the resource of its rule', webhook({}), attributes(), serviceKind],
    ['no other operation', webhook({ operations: ['DELETE'] }), attributes(), undefined],
    ['no other group', webhook({ apiGroups: ['apps'] }), attributes(), undefined],
    ['no other version', webhook({ apiVersions: ['v2'] }), attributes(), undefined],
    ['no subresource that its rule does not name', webhook({}), attributes({ subresource: 'status' }), undefined],
    ['no subresource with *', webhook({ resources: ['*'] }), attributes({ subresource: 'status' }), undefined],
    ['a subresource', webhook({ resources: ['*/status'] }), attributes({ subresource: 'status' }), serviceKind],
    ['services/* includes services', webhook({ resources: ['services/*'] }), attributes(), serviceKind],
    ['*/* is everything', webhook({ resources: ['*/*'] }), attributes({ subresource: 'status' }), serviceKind],
    ['resources in its scope', webhook({ scope: 'Namespaced' }), attributes(), serviceKind],
    ['no resource outside its scope', webhook({ scope: 'Cluster' }), attributes(), undefined],
    [
      'a Namespace with the scope Cluster',
      webhook({ resources: ['*'], scope: 'Cluster' }),
      attributes({ kind: namespaceKind }),
      namespaceKind,
    ],
    ['objects in namespaces with the label', webhook({}, team('shop')), attributes(), serviceKind],
    ['no object in other namespaces', webhook({}, team('other')), attributes(), undefined],
    [
      'cluster-scoped objects, whatever the namespace selector',
      webhook({ resources: ['nodes'] }, team('other')),
      attributes({ kind: nodeKind }),
      nodeKind,
    ],
    [
      'a Namespace by its new labels',
      webhook({ resources: ['namespaces'] }, team('new')),
      attributes({ kind: namespaceKind, object: { metadata: { name: 'shop', labels: { team: 'new' } } } }),
      namespaceKind,
    ],
    ['objects with the label', webhook({}, app('cart')), attributes(), serviceKind],
    ['no object without the label', webhook({}, app('web')), attributes(), undefined],
    [
      'an object that loses the label',
      webhook({}, app('web')),
      attributes({ operation: 'UPDATE', old: { metadata: { labels: { app: 'web' } } } }),
      serviceKind,
    ],
    [
      'another version of the same objects',
      webhook(exports(['v1beta1'])),
      attributes({ kind: serviceExportAlphaKind, equivalents: () => [serviceExportKind] }),
      serviceExportKind,
    ],
    [
      'the version of the request, if the rule names both',
      webhook(exports(['v1beta1', 'v1alpha1'])),
      attributes({ kind: serviceExportAlphaKind, equivalents: () => [serviceExportKind] }),
      serviceExportAlphaKind,
    ],
    [
      'no other version with matchPolicy Exact',
      webhook(exports(['v1beta1']), { matchPolicy: 'Exact' }),
      attributes({ kind: serviceExportAlphaKind, equivalents: () => [serviceExportKind] }),
      undefined,
    ],
  ];
  for (const [name, given, about, want] of table) {
    test(name, () => assert.equal(matchedKind(given, about, labels), want));
  }
});
