import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { FieldError } from '../../../field-errors.ts';
import type { ResourceQuota } from './schema.ts';
import { validateQuota, validateQuotaStatus, validateQuotaUpdate } from './validate.ts';

const quota = (spec: ResourceQuota['spec'], status: ResourceQuota['status'] = {}): ResourceQuota => ({
  metadata: { name: 'q' },
  spec,
  status,
});

const texts = (errors: readonly FieldError[]): readonly string[] => errors.map(({ path, body }) => `${path}: ${body}`);

const selector = (scopeName: string, operator: string, values?: readonly string[]): ResourceQuota['spec'] => ({
  scopeSelector: { matchExpressions: [{ scopeName, operator, ...(values && { values: [...values] }) }] },
});

const path = 'spec.scopeSelector.matchExpressions';

const cases: readonly {
  readonly name: string;
  readonly spec: ResourceQuota['spec'];
  readonly want: readonly string[];
}[] = [
  { name: 'an empty quota', spec: {}, want: [] },
  {
    name: 'every kind of name',
    spec: {
      hard: {
        services: '5',
        'services.nodeports': '0',
        'count/serviceexports.multicluster.x-k8s.io': '1',
        'requests.cpu': '1500m',
        'limits.memory': '1Gi',
        'hugepages-2Mi': '2Mi',
        'requests.example.org/gpu': '4',
      },
    },
    want: [],
  },
  {
    name: 'an unknown resource name',
    spec: { hard: { 'limit.cpu': '1' } },
    want: [
      'spec.hard[limit.cpu]: Invalid value: "limit.cpu": must be a standard resource type or fully qualified',
      'spec.hard[limit.cpu]: Invalid value: "limit.cpu": must be a standard resource for quota',
    ],
  },
  {
    name: 'negative and malformed quantities',
    spec: { hard: { services: '-1', pods: '1500m', 'requests.cpu': '-1m' } },
    want: [
      'spec.hard[services]: Invalid value: "-1": must be greater than or equal to 0',
      'spec.hard[pods]: Invalid value: "1500m": must be an integer',
      'spec.hard[requests.cpu]: Invalid value: "-1m": must be greater than or equal to 0',
    ],
  },
  {
    name: 'scopes of Pods',
    spec: { hard: { pods: '1', cpu: '1' }, scopes: ['Terminating', 'NotBestEffort'] },
    want: [],
  },
  {
    name: 'an unknown scope',
    spec: { scopes: ['Big'] },
    want: ['spec.scopes: Invalid value: ["Big"]: unsupported scope'],
  },
  {
    name: 'a scope of Pods and a limit of Services',
    spec: { hard: { services: '1' }, scopes: ['Terminating'] },
    want: ['spec.scopes: Invalid value: ["Terminating"]: unsupported scope applied to resource'],
  },
  {
    name: 'mutually exclusive scopes',
    spec: { scopes: ['BestEffort', 'NotBestEffort'] },
    want: ['spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
  },
  { name: 'a selector of priority classes', spec: selector('PriorityClass', 'In', ['high']), want: [] },
  {
    name: 'a selector without values',
    spec: selector('PriorityClass', 'In'),
    want: [
      `${path}.values: Required value: must be at least one value when \`operator\` is 'In' or 'NotIn' for scope selector`,
    ],
  },
  {
    name: 'a selector with values that its operator does not allow',
    spec: selector('PriorityClass', 'Exists', ['high']),
    want: [
      `${path}.values: Invalid value: ["high"]: must be no value when \`operator\` is 'Exist' or 'DoesNotExist' for scope selector`,
    ],
  },
  {
    name: 'an unknown operator',
    spec: selector('PriorityClass', 'Gt'),
    want: [`${path}.operator: Invalid value: "Gt": not a valid selector operator`],
  },
  {
    name: 'an operator that the scope does not allow',
    spec: selector('BestEffort', 'DoesNotExist'),
    want: [
      `${path}.operator: Invalid value: "DoesNotExist": must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity`,
    ],
  },
];

for (const { name, spec, want } of cases) {
  test(`a quota with ${name}`, () => assert.deepEqual(texts(validateQuota(quota(spec))), want));
}

test('scopes are immutable, limits are not', () => {
  const old = quota({ hard: { pods: '1' }, scopes: ['Terminating', 'NotBestEffort'] });
  const same = quota({ hard: { pods: '2' }, scopes: ['NotBestEffort', 'Terminating'] });
  assert.deepEqual(texts(validateQuotaUpdate(same, old)), []);
  assert.deepEqual(texts(validateQuotaUpdate(quota({ hard: { pods: '2' } }), old)), [
    'spec.scopes: Invalid value: []: field is immutable',
  ]);
});

test('validates the quantities of a status', () => {
  assert.deepEqual(texts(validateQuotaStatus(quota({}, { used: { services: '-1' } }))), [
    'status.used[services]: Invalid value: "-1": must be greater than or equal to 0',
  ]);
});
