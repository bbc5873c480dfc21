import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gatesWith } from '../../../gates.ts';
import { validatingWebhookConfigurationKind as kind } from './kind.ts';
import type { Webhook } from '../webhook-schema.ts';
import type { ValidatingWebhookConfiguration } from './schema.ts';

const context = { gates: gatesWith(), loopbackEndpoints: [] };

const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
const good: Webhook = {
  name: 'policy.example.org',
  clientConfig: { url: 'https://policy.example.org/check' },
  rules: [rule],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
};

const configuration = (...webhooks: readonly Partial<Webhook>[]): ValidatingWebhookConfiguration =>
  kind.applyDefaults({ metadata: {}, webhooks: webhooks.map((webhook) => ({ ...good, ...webhook })) });

const errorsOf = (object: ValidatingWebhookConfiguration, old?: ValidatingWebhookConfiguration): string[] =>
  (old === undefined ? kind.validateCreate(object, context) : kind.validateUpdate(object, old, context)).map(
    ({ path, body }) => `${path}: ${body}`,
  );

test('sets the defaults of Kubernetes', () => {
  const service = { namespace: 'shop', name: 'policy' };
  assert.deepEqual(configuration({ clientConfig: { service } }).webhooks, [
    {
      ...good,
      clientConfig: { service: { ...service, port: 443 } },
      rules: [{ ...rule, scope: '*' }],
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      namespaceSelector: {},
      objectSelector: {},
      timeoutSeconds: 10,
    },
  ]);
});

suite('validation of a webhook', () => {
  const { sideEffects: _, ...unsaid } = good;
  const form = '; desired format: https://host[/path]';
  const table: readonly {
    readonly name: string;
    readonly given: Partial<Webhook>;
    readonly want: readonly string[];
  }[] = [
    { name: 'accepts a valid webhook', given: {}, want: [] },
    {
      name: 'rejects a name that is not fully qualified',
      given: { name: 'policy' },
      want: [
        'webhooks[0].name: Invalid value: "policy": should be a domain with at least three segments separated by dots',
      ],
    },
    {
      name: 'rejects unknown values',
      // Decoding accepts any word; validation rejects unknown ones.
      given: { failurePolicy: 'Retry', matchPolicy: 'Fuzzy', sideEffects: 'Some' } as unknown as Webhook,
      want: [
        'webhooks[0].failurePolicy: Unsupported value: "Retry": supported values: "Fail", "Ignore"',
        'webhooks[0].matchPolicy: Unsupported value: "Fuzzy": supported values: "Equivalent", "Exact"',
        'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
      ],
    },
    {
      name: 'rejects a timeout out of range',
      given: { timeoutSeconds: 31 },
      want: ['webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds'],
    },
    {
      name: 'rejects unsupported review versions',
      given: { admissionReviewVersions: ['v2', 'v2'] },
      want: [
        'webhooks[0].admissionReviewVersions[1]: Invalid value: "v2": duplicate version',
        'webhooks[0].admissionReviewVersions: Invalid value: ["v2","v2"]: must include at least one of v1, v1beta1',
      ],
    },
    {
      name: 'rejects missing review versions',
      given: { admissionReviewVersions: [] },
      want: ['webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1'],
    },
    {
      name: 'rejects an empty rule',
      given: { rules: [{ operations: [], apiGroups: [], apiVersions: [''], resources: [] }] },
      want: [
        'webhooks[0].rules[0].operations: Required value',
        'webhooks[0].rules[0].apiGroups: Required value',
        'webhooks[0].rules[0].apiVersions[0]: Required value',
        'webhooks[0].rules[0].resources: Required value',
      ],
    },
    {
      name: 'rejects further items next to a wildcard',
      given: {
        rules: [{ ...rule, operations: ['*', 'CREATE'], apiGroups: ['*', ''], resources: ['*', 'pods', 'a/*', 'a/b'] }],
      },
      want: [
        `webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`,
        `webhooks[0].rules[0].apiGroups: Invalid value: ["*",""]: if '*' is present, must not specify other API groups`,
        `webhooks[0].rules[0].resources[3]: Invalid value: "a/b": if 'a/*' is present, must not specify a/b`,
        `webhooks[0].rules[0].resources: Invalid value: ["*","pods","a/*","a/b"]: if '*' is present, must not specify other resources without subresources`,
      ],
    },
    {
      name: 'rejects URLs other than https://host/path',
      given: { clientConfig: { url: 'http://me:secret@policy.example.org/?a=b#c' } },
      want: [
        `webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme${form}`,
        'webhooks[0].clientConfig.url: Invalid value: "me:secret": user information is not permitted in the URL',
        'webhooks[0].clientConfig.url: Invalid value: "c": fragments are not permitted in the URL',
        'webhooks[0].clientConfig.url: Invalid value: "a=b": query parameters are not permitted in the URL',
      ],
    },
    {
      name: 'rejects a webhook without an address',
      given: { clientConfig: {} },
      want: ['webhooks[0].clientConfig: Required value: exactly one of url or service is required'],
    },
    {
      name: 'rejects a Service without a name and an invalid path',
      given: { clientConfig: { service: { namespace: 'shop', name: '', port: 0, path: '/a//b' } } },
      want: [
        'webhooks[0].clientConfig.service.name: Required value: service name is required',
        'webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive',
        'webhooks[0].clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty',
      ],
    },
    {
      name: 'rejects match conditions without a name, with a repeated name, and that are not conditions',
      given: {
        matchConditions: [
          { name: '', expression: 'true' },
          { name: 'a', expression: 'true' },
          { name: 'a', expression: ' ' },
          { name: 'b', expression: '1' },
        ],
      },
      want: [
        'webhooks[0].matchConditions[0].name: Required value',
        'webhooks[0].matchConditions[2].expression: Required value',
        'webhooks[0].matchConditions[2].name: Duplicate value: "a"',
        'webhooks[0].matchConditions[3].expression: Invalid value: "1": must evaluate to bool but got int',
      ],
    },
  ];
  for (const { name, given, want } of table) {
    test(name, () => assert.deepEqual(errorsOf(configuration(given)), want));
  }
  test('rejects a webhook without sideEffects', () =>
    assert.deepEqual(errorsOf({ metadata: {}, webhooks: [unsaid] }), [
      'webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun',
    ]));
});

test('rejects duplicate names, unless the stored object has them', () => {
  const twice = configuration({}, {});
  assert.deepEqual(errorsOf(twice), ['webhooks[1].name: Duplicate value: "policy.example.org"']);
  assert.deepEqual(errorsOf(twice, twice), []);
});
