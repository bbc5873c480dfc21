import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fromV1beta1 } from './v1beta1.ts';

const definition = (version: string, spec: object): object => ({
  apiVersion: `apiextensions.k8s.io/${version}`,
  kind: 'CustomResourceDefinition',
  metadata: { name: 'shops.example.org' },
  spec: { group: 'example.org', ...spec },
});
const schema = { openAPIV3Schema: { type: 'object' } };
const other = { openAPIV3Schema: { type: 'object', description: 'other' } };
const v1 = { name: 'v1', served: true, storage: true };
const v2 = { name: 'v2', served: true, storage: false };

const cases: readonly (readonly [name: string, given: object, want: object])[] = [
  [
    'fields that all versions have in common',
    {
      version: 'v1',
      validation: schema,
      subresources: { status: {} },
      additionalPrinterColumns: [{ name: 'Age', type: 'date', JSONPath: '.x' }],
      versions: [v1, v2],
      conversion: { strategy: 'None' },
      preserveUnknownFields: false,
    },
    {
      versions: [v1, v2].map((version) => ({
        subresources: { status: {} },
        ...version,
        schema,
        additionalPrinterColumns: [{ name: 'Age', type: 'date', jsonPath: '.x' }],
      })),
      conversion: { strategy: 'None' },
    },
  ],
  [
    'fields of each version',
    {
      versions: [
        { ...v1, schema },
        { ...v2, schema: other },
      ],
      preserveUnknownFields: false,
    },
    {
      versions: [
        { ...v1, schema },
        { ...v2, schema: other },
      ],
    },
  ],
  [
    'a conversion by a webhook, one version, and unknown fields',
    {
      version: 'v1',
      conversion: { strategy: 'Webhook', webhookClientConfig: { url: 'https://a' }, conversionReviewVersions: ['v1'] },
    },
    {
      versions: [v1],
      conversion: {
        strategy: 'Webhook',
        webhook: { clientConfig: { url: 'https://a' }, conversionReviewVersions: ['v1'] },
      },
      preserveUnknownFields: true,
    },
  ],
];
for (const [name, given, want] of cases) {
  test(`reads a definition in v1beta1 with ${name}`, () =>
    assert.deepEqual(fromV1beta1(definition('v1beta1', given)), definition('v1', want)));
}

test('returns a definition in v1 as it is', () => {
  const given = definition('v1', { versions: [v1] });
  assert.equal(fromV1beta1(given), given);
});
