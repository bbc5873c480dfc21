import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { until } from '../testing/until.ts';

const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const rule = (group: string, resource: string): object => ({
  operations: ['*'],
  apiGroups: [group],
  apiVersions: ['v1'],
  resources: [resource],
});

/** The status of a policy when it was checked. */
async function checked(server: TestServer, name: string, generation = 1): Promise<unknown> {
  const status = await until('the policy is checked', async () => {
    const { body } = await server.ask('GET', `${policies}/${name}`);
    return body.status?.observedGeneration === generation ? body.status : undefined;
  });
  return status.typeChecking;
}

const policy = (name: string, rules: readonly object[], validations: readonly object[]): { readonly body: object } => ({
  body: { metadata: { name }, spec: { matchConstraints: { resourceRules: rules }, validations } },
});

const mark = (text: string, column: number): string => `\n | ${text}\n | ${'.'.repeat(column - 1)}^\n`;

test('reports expressions that do not fit the types of built-in kinds', async () => {
  await using server = await testServer();
  const rules = [rule('apps', 'deployments'), rule('', '*')];
  const right = [
    { expression: "object.spec.replicas > 1 && object.metadata.namespace != 'a' && oldObject == null" },
    { expression: "object.spec.template.spec.containers.all(c, c.image.startsWith('a'))" },
  ];
  const created = await server.ask('POST', policies, policy('right', rules, right));
  assert.equal(created.status, 201, created.text);
  assert.deepEqual(await checked(server, 'right'), {});

  const expression = "object.spec.replicas > '1'";
  await server.ask('POST', policies, policy('wrong', rules, [{ expression, messageExpression: "'a' + object.kin" }]));
  const of = 'apps/v1, Kind=Deployment: compilation failed: ERROR: <input>';
  assert.deepEqual(await checked(server, 'wrong'), {
    expressionWarnings: [
      {
        fieldRef: 'spec.validations[0].expression',
        warning: `${of}:1:22: found no matching overload for '_>_' applied to '(int, string)'${mark(expression, 22)}`,
      },
      {
        fieldRef: 'spec.validations[0].messageExpression',
        warning: `${of}:1:13: undefined field 'kin'${mark("'a' + object.kin", 13)}`,
      },
    ],
  });
  const patched = await server.ask('PATCH', `${policies}/wrong`, {
    body: { spec: { validations: right } },
    type: 'application/merge-patch+json',
  });
  assert.equal(patched.status, 200, patched.text);
  assert.deepEqual(await checked(server, 'wrong', 2), {});
});

test('knows the types of custom resources, of parameters and of variables', async () => {
  await using server = await testServer();
  const properties = { spec: { type: 'object', properties: { replicas: { type: 'integer' } } } };
  await server.ask('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    body: {
      metadata: { name: 'webs.example.org' },
      spec: {
        group: 'example.org',
        scope: 'Namespaced',
        names: { plural: 'webs', kind: 'Web' },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', properties } } },
        ],
      },
    },
  });
  const spec = {
    matchConstraints: { resourceRules: [rule('example.org', 'webs')] },
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    variables: [{ name: 'count', expression: 'object.spec.replicas' }],
    validations: [
      { expression: 'variables.count > 1' },
      { expression: "variables.count == params.data['a']" },
      { expression: 'object.spec.retries < 10' },
    ],
  };
  const created = await server.ask('POST', policies, { body: { metadata: { name: 'p' }, spec } });
  assert.equal(created.status, 201, created.text);
  const result = JSON.stringify(await checked(server, 'p'));
  assert.match(result, /validations\[1\].*example.org\/v1, Kind=Web: .*'_==_' applied to '\(int, string\)'/);
  assert.match(result, /validations\[2\].*undefined field 'retries'/);
  assert.doesNotMatch(result, /validations\[0\]/);
});
