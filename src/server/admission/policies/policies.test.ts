import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { TestServer } from '../../testing/server.ts';
import { testServer } from '../../testing/server.ts';

const group = '/apis/admissionregistration.k8s.io/v1';
const maps = '/api/v1/namespaces/default/configmaps';
const onMaps = { operations: ['CREATE', 'UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] };

async function post(server: TestServer, path: string, body: object): Promise<void> {
  const { status, text } = await server.ask('POST', path, { body });
  assert.equal(status, 201, text);
}

/** Creates a policy for ConfigMaps, and a binding that enables it. */
async function bind(server: TestServer, spec: object, binding: object = {}): Promise<void> {
  const matchConstraints = { resourceRules: [onMaps] };
  await post(server, `${group}/validatingadmissionpolicies`, {
    metadata: { name: 'p' },
    spec: { matchConstraints, ...spec },
  });
  await post(server, `${group}/validatingadmissionpolicybindings`, {
    metadata: { name: 'b' },
    spec: { policyName: 'p', validationActions: ['Deny'], ...binding },
  });
}

const map = (name: string, data: object = {}): { readonly body: object } => ({ body: { metadata: { name }, data } });

const denied = (why: string): string =>
  `configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ${why}`;

suite('a ValidatingAdmissionPolicy', () => {
  const cases: readonly {
    readonly name: string;
    readonly spec: object;
    readonly want: readonly [status: number, reason: string, message: string] | 'admitted';
  }[] = [
    {
      name: 'admits a write whose conditions are true',
      spec: { validations: [{ expression: "object.metadata.name == 'a'" }, { expression: 'object.data.size() == 1' }] },
      want: 'admitted',
    },
    {
      name: 'rejects a write with its expression as the message',
      spec: { validations: [{ expression: " object.data.x == '2' " }] },
      want: [422, 'Invalid', denied("failed expression: object.data.x == '2'")],
    },
    {
      name: 'rejects a write with its message and reason',
      spec: { validations: [{ expression: 'false', message: 'never', reason: 'Forbidden' }] },
      want: [403, 'Forbidden', denied('never')],
    },
    {
      name: 'computes the message, and falls back to the fixed one',
      spec: {
        validations: [
          { expression: 'true' },
          { expression: 'false', messageExpression: "'x is ' + object.data.x", message: 'not used' },
        ],
      },
      want: [422, 'Invalid', denied('x is 1')],
    },
    {
      name: 'falls back to the fixed message if the computed one fails',
      spec: { validations: [{ expression: 'false', messageExpression: 'string(object.absent)', message: 'fixed' }] },
      want: [422, 'Invalid', denied('fixed')],
    },
    {
      name: 'reads variables, which can read those before them',
      spec: {
        variables: [
          { name: 'x', expression: 'int(object.data.x)' },
          { name: 'twice', expression: 'variables.x * 2' },
        ],
        validations: [{ expression: 'variables.twice == 3', messageExpression: 'string(variables.twice)' }],
      },
      want: [422, 'Invalid', denied('2')],
    },
    {
      name: 'rejects a write if an expression fails',
      spec: { validations: [{ expression: "object.absent == 'x'" }] },
      want: [422, 'Invalid', denied(`expression 'object.absent == 'x'' resulted in error: no such key: absent`)],
    },
    {
      name: 'admits a write if an expression fails and the policy ignores failures',
      spec: { failurePolicy: 'Ignore', validations: [{ expression: "object.absent == 'x'" }] },
      want: 'admitted',
    },
    {
      name: 'names the variable that failed',
      spec: {
        variables: [{ name: 'v', expression: 'object.absent' }],
        validations: [{ expression: "variables.v == 'x'" }],
      },
      want: [
        422,
        'Invalid',
        denied(
          `expression 'variables.v == 'x'' resulted in error: composited variable "v" fails to evaluate: expression 'object.absent' resulted in error: no such key: absent`,
        ),
      ],
    },
    {
      name: 'does not apply where a match condition is false',
      spec: {
        matchConditions: [{ name: 'c', expression: "'y' in object.data" }],
        validations: [{ expression: 'false' }],
      },
      want: 'admitted',
    },
    {
      name: 'reads the namespace and the request',
      spec: {
        validations: [
          {
            expression:
              "namespaceObject.metadata.name == 'default' && request.resource.resource == 'configmaps' && oldObject == null",
          },
        ],
      },
      want: 'admitted',
    },
    {
      name: 'is stopped when it costs too much',
      spec: {
        variables: [{ name: 'l', expression: "'a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a'.split(',')" }],
        validations: [
          {
            expression:
              'variables.l.all(a, variables.l.all(b, variables.l.all(c, variables.l.all(d, variables.l.all(e, true)))))',
          },
        ],
      },
      want: [
        422,
        'Invalid',
        denied('validation failed due to running out of cost budget, no further validation rules will be run'),
      ],
    },
  ];
  for (const { name, spec, want } of cases) {
    test(name, async () => {
      await using server = await testServer();
      await bind(server, spec);
      const { status, body, text } = await server.ask('POST', maps, map('a', { x: '1' }));
      if (want === 'admitted') assert.equal(status, 201, text);
      else {
        assert.deepEqual([status, body.reason, body.message], want);
      }
    });
  }

  test('warns, and audits, instead of rejecting, if its binding says so', async () => {
    await using server = await testServer();
    await bind(
      server,
      { validations: [{ expression: 'false', message: 'no' }] },
      { validationActions: ['Warn', 'Audit'] },
    );
    const { status, warnings } = await server.ask('POST', maps, map('a'));
    assert.equal(status, 201);
    assert.deepEqual(warnings, ["299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no\""]);
  });

  test('applies to nothing without a binding, and no longer after its binding is deleted', async () => {
    await using server = await testServer();
    await bind(server, { validations: [{ expression: 'false' }] });
    assert.equal((await server.ask('POST', maps, map('a'))).status, 422);
    await server.ask('DELETE', `${group}/validatingadmissionpolicybindings/b`);
    assert.equal((await server.ask('POST', maps, map('a'))).status, 201);
  });

  test('applies to the objects that its binding selects, except excluded ones', async () => {
    await using server = await testServer();
    await bind(
      server,
      { validations: [{ expression: 'false' }] },
      {
        matchResources: {
          objectSelector: { matchLabels: { checked: 'yes' } },
          excludeResourceRules: [{ ...onMaps, resourceNames: ['spared'] }],
        },
      },
    );
    const labelled = (name: string): { readonly body: object } => ({
      body: { metadata: { name, labels: { checked: 'yes' } } },
    });
    assert.equal((await server.ask('POST', maps, map('a'))).status, 201);
    assert.equal((await server.ask('POST', maps, labelled('spared'))).status, 201);
    assert.equal((await server.ask('POST', maps, labelled('b'))).status, 422);
  });

  test('is evaluated with each parameter that its binding selects', async () => {
    await using server = await testServer();
    await post(server, maps, { metadata: { name: 'limits', labels: { limit: 'yes' } }, data: { max: '3' } });
    await bind(
      server,
      {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        validations: [
          {
            expression: "!has(object.data) || !('n' in object.data) || int(object.data.n) <= int(params.data.max)",
            messageExpression: "'at most ' + string(params.data.max)",
          },
        ],
      },
      { paramRef: { selector: { matchLabels: { limit: 'yes' } }, parameterNotFoundAction: 'Deny' } },
    );
    assert.equal((await server.ask('POST', maps, map('a', { n: '3' }))).status, 201);
    const { status, body } = await server.ask('PUT', `${maps}/a`, map('a', { n: '4' }));
    assert.deepEqual([status, body.message], [422, denied('at most 3')]);
    await server.ask('DELETE', `${maps}/limits`);
    assert.equal(
      (await server.ask('PUT', `${maps}/a`, map('a', { n: '4' }))).body.message,
      denied('failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction'),
    );
  });

  test('cannot prevent changes of itself', async () => {
    await using server = await testServer();
    const all = { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] };
    await bind(server, { matchConstraints: { resourceRules: [all] }, validations: [{ expression: 'false' }] });
    assert.equal((await server.ask('POST', maps, map('a'))).status, 422);
    assert.equal((await server.ask('DELETE', `${group}/validatingadmissionpolicies/p`)).status, 200);
    assert.equal((await server.ask('POST', maps, map('a'))).status, 201);
  });

  test('is rejected if it does not compile, has no content, or no rules', async () => {
    await using server = await testServer();
    const reject = async (spec: object): Promise<string> => {
      const { status, text } = await server.ask('POST', `${group}/validatingadmissionpolicies`, {
        body: { metadata: { name: 'p' }, spec },
      });
      assert.equal(status, 422, text);
      return text;
    };
    const matchConstraints = { resourceRules: [onMaps] };
    assert.match(
      await reject({ matchConstraints }),
      /spec\.validations: Required value: validations or auditAnnotations must contain/,
    );
    assert.match(await reject({ validations: [{ expression: 'true' }] }), /spec\.matchConstraints: Required value/);
    assert.match(
      await reject({ matchConstraints: {}, validations: [{ expression: 'true' }] }),
      /resourceRules: Required value/,
    );
    assert.match(
      await reject({ matchConstraints, validations: [{ expression: 'params.x == 1' }] }),
      /undeclared reference to 'params'/,
    );
    assert.match(await reject({ matchConstraints, validations: [{ expression: "'text'" }] }), /must evaluate to bool/);
    assert.match(
      await reject({ matchConstraints, validations: [{ expression: 'true', reason: 'Why' }] }),
      /reason: Unsupported value: .*Why/,
    );
    assert.match(
      await reject({ matchConstraints, validations: [{ expression: 'variables.later' }] }),
      /undeclared reference to 'variables'|undefined field 'later'/,
    );
    assert.match(
      await reject({
        matchConstraints,
        variables: [{ name: '1x', expression: '1' }],
        validations: [{ expression: 'true' }],
      }),
      /must be a valid CEL identifier/,
    );
  });
});
