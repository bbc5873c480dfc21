import assert from 'node:assert/strict';
import { test } from 'node:test';

import { podReferences } from './references.ts';
import type { Pod, PodSpec } from './schema.ts';

const referencesOf = (spec: Partial<PodSpec>): readonly string[] => {
  const pod = { metadata: { name: 'web' }, spec: { containers: [], ...spec }, status: {} } as unknown as Pod;
  return podReferences(pod)
    .map(({ resource, name }) => `${resource}/${name}`)
    .filter((reference) => reference !== 'serviceaccounts/default');
};

const rows: readonly { readonly name: string; readonly spec: object; readonly want: readonly string[] }[] = [
  { name: 'nothing', spec: {}, want: [] },
  { name: 'the service account', spec: { serviceAccountName: 'robot' }, want: ['serviceaccounts/robot'] },
  { name: 'secrets for images', spec: { imagePullSecrets: [{ name: 'a' }, {}] }, want: ['secrets/a'] },
  {
    name: 'variables of all kinds of containers',
    spec: {
      initContainers: [{ envFrom: [{ secretRef: { name: 'a' } }, { configMapRef: { name: 'b' } }] }],
      containers: [{ env: [{ valueFrom: { secretKeyRef: { name: 'c', key: 'k' } } }, { name: 'PLAIN', value: 'x' }] }],
      ephemeralContainers: [{ env: [{ valueFrom: { configMapKeyRef: { name: 'd', key: 'k' } } }] }],
    },
    want: ['secrets/a', 'configmaps/b', 'secrets/c', 'configmaps/d'],
  },
  {
    name: 'volumes',
    spec: {
      volumes: [
        { name: '1', secret: { secretName: 'a' } },
        { name: '2', configMap: { name: 'b' } },
        { name: '3', persistentVolumeClaim: { claimName: 'c' } },
        { name: '4', ephemeral: {} },
        { name: '5', projected: { sources: [{ secret: { name: 'd' } }, { configMap: { name: 'e' } }, {}] } },
        { name: '6', emptyDir: {} },
      ],
    },
    want: [
      'secrets/a',
      'configmaps/b',
      'persistentvolumeclaims/c',
      'persistentvolumeclaims/web-4',
      'secrets/d',
      'configmaps/e',
    ],
  },
  {
    name: 'secrets of drivers',
    spec: {
      volumes: [
        { name: '1', csi: { driver: 'd', nodePublishSecretRef: { name: 'a' } } },
        { name: '2', azureFile: { secretName: 'b', shareName: 's' } },
        { name: '3', rbd: { secretRef: { name: 'c' } } },
      ],
    },
    want: ['secrets/a', 'secrets/b', 'secrets/c'],
  },
];

test('a Pod without a service account refers to the default one', () => {
  const pod = { metadata: {}, spec: { containers: null }, status: {} } as unknown as Pod;
  assert.deepEqual(podReferences(pod), [{ resource: 'serviceaccounts', name: 'default' }]);
});

for (const { name, spec, want } of rows) {
  test(`a Pod refers to ${name}`, () => assert.deepEqual(referencesOf(spec), want));
}
