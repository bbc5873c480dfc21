import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { until } from '../testing/until.ts';

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const cronTabs = '/apis/stable.example.com/v1/namespaces/default/crontabs';

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['cronSpec'],
      properties: {
        cronSpec: { type: 'string', pattern: String.raw`^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$` },
        image: { type: 'string', default: 'busybox' },
        replicas: { type: 'integer', minimum: 1, maximum: 10 },
        port: { 'x-kubernetes-int-or-string': true },
        raw: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        rules: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            required: ['name'],
            properties: { name: { type: 'string' }, value: { type: 'string' } },
          },
        },
      },
    },
    status: { type: 'object', properties: { replicas: { type: 'integer' }, selector: { type: 'string' } } },
  },
};

const version = {
  name: 'v1',
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schema },
  subresources: {
    status: {},
    scale: {
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.replicas',
      labelSelectorPath: '.status.selector',
    },
  },
  additionalPrinterColumns: [{ name: 'Spec', type: 'string', jsonPath: '.spec.cronSpec' }],
  selectableFields: [{ jsonPath: '.spec.image' }],
};

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'crontabs.stable.example.com' },
  spec: {
    group: 'stable.example.com',
    scope: 'Namespaced',
    names: { plural: 'crontabs', kind: 'CronTab', shortNames: ['ct'], categories: ['all'] },
    versions: [version],
  },
};

const cronTab = (name: string, spec: object): object => ({
  apiVersion: 'stable.example.com/v1',
  kind: 'CronTab',
  metadata: { name },
  spec: { cronSpec: '* * * * */5', ...spec },
});

async function install(server: TestServer, crd: object = definition): Promise<void> {
  const created = await server.ask('POST', crds, { body: crd });
  assert.equal(created.status, 201, created.text);
  const name: string = created.body.metadata.name;
  await until('the definition is established', async () => {
    const { body } = await server.ask('GET', `${crds}/${name}`);
    return (body.status.conditions ?? []).some(
      (each: { type: string; status: string }) => each.type === 'Established' && each.status === 'True',
    );
  });
}

test('serves a custom resource once its definition is established', async () => {
  await using server = await testServer();
  assert.equal((await server.ask('GET', cronTabs)).status, 404);
  await install(server);
  const { body: crd } = await server.ask('GET', `${crds}/crontabs.stable.example.com`);
  assert.deepEqual(crd.status.acceptedNames, {
    plural: 'crontabs',
    singular: 'crontab',
    shortNames: ['ct'],
    kind: 'CronTab',
    listKind: 'CronTabList',
    categories: ['all'],
  });
  assert.deepEqual(crd.status.storedVersions, ['v1']);

  const created = await server.ask('POST', cronTabs, { body: cronTab('a', { unknown: 1, raw: { any: { x: 1 } } }) });
  assert.equal(created.status, 201, created.text);
  assert.deepEqual(created.body.spec, { cronSpec: '* * * * */5', image: 'busybox', raw: { any: { x: 1 } } });
  assert.deepEqual(created.warnings, ['299 - "unknown field \\"spec.unknown\\""']);
  assert.equal(created.body.metadata.generation, 1);

  const list = await server.ask('GET', cronTabs);
  assert.equal(list.body.kind, 'CronTabList');
  assert.equal(list.body.items[0].kind, 'CronTab');

  const resources = await server.ask('GET', '/apis/stable.example.com/v1');
  assert.deepEqual(
    resources.body.resources.map((each: { name: string }) => each.name),
    ['crontabs', 'crontabs/scale', 'crontabs/status'],
  );
  const openApi = await server.ask('GET', '/openapi/v3/apis/stable.example.com/v1');
  assert.equal(
    openApi.body.components.schemas['com.example.stable.v1.CronTab'].properties.spec.properties.image.default,
    'busybox',
  );
});

test('lists groups of custom resources by name, so that clients resolve ambiguous names alike', async () => {
  await using server = await testServer();
  for (const [plural, group] of [
    ['apples', 'z.example.com'],
    ['pears', 'a.example.com'],
  ] as const) {
    const names = { plural, kind: plural };
    const metadata = { name: `${plural}.${group}` };
    await install(server, { ...definition, metadata, spec: { ...definition.spec, group, names } });
  }
  const { body } = await server.ask('GET', '/apis');
  const groups: readonly string[] = body.groups.map(({ name }: { readonly name: string }) => name);
  assert.deepEqual(groups.slice(-2), ['a.example.com', 'z.example.com']);
});

test('rejects invalid custom resources with the errors of Kubernetes', async () => {
  await using server = await testServer();
  await install(server);
  const messageOf = async (spec: object): Promise<string> => {
    const { status, body } = await server.ask('POST', cronTabs, { body: cronTab('a', spec) });
    assert.equal(status, 422);
    return body.message;
  };
  assert.equal(
    await messageOf({ replicas: 'x' }),
    'CronTab.stable.example.com "a" is invalid: [spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string", .spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64]',
  );
  assert.equal(
    await messageOf({ replicas: 11, cronSpec: 'x' }),
    'CronTab.stable.example.com "a" is invalid: [spec.cronSpec: Invalid value: "x": spec.cronSpec in body should match \'^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$\', spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10]',
  );
  assert.equal(
    await messageOf({ rules: [{ name: 'a' }, { name: 'a' }] }),
    'CronTab.stable.example.com "a" is invalid: spec.rules[1]: Duplicate value: {"name":"a"}',
  );
  const strict = await server.ask('POST', `${cronTabs}?fieldValidation=Strict`, { body: cronTab('a', { foo: 1 }) });
  assert.equal(strict.status, 400);
  assert.match(strict.body.message, /strict decoding error: unknown field "spec\.foo"/);
});

test('updates, patches, applies, scales and watches custom resources', async () => {
  await using server = await testServer();
  await install(server);
  const watch = await server.watch(`${cronTabs}?watch=true`);
  await server.ask('POST', cronTabs, { body: cronTab('a', { replicas: 1 }) });
  const merge = 'application/merge-patch+json';
  const patched = await server.ask('PATCH', `${cronTabs}/a`, { body: { spec: { replicas: 2 } }, type: merge });
  assert.equal(patched.body.metadata.generation, 2);
  const status = await server.ask('PATCH', `${cronTabs}/a/status`, {
    body: { status: { replicas: 2, selector: 'a=b' }, spec: { replicas: 9 } },
    type: merge,
  });
  assert.equal(status.body.spec.replicas, 2);
  const scale = await server.ask('GET', `${cronTabs}/a/scale`);
  assert.deepEqual([scale.body.spec, scale.body.status], [{ replicas: 2 }, { replicas: 2, selector: 'a=b' }]);
  const scaled = await server.ask('PATCH', `${cronTabs}/a/scale`, { body: { spec: { replicas: 4 } }, type: merge });
  assert.equal(scaled.body.spec.replicas, 4, scaled.text);
  const apply = async (manager: string, rule: object): Promise<void> => {
    const { status: code, text } = await server.ask('PATCH', `${cronTabs}/a?fieldManager=${manager}&force=true`, {
      body: { apiVersion: 'stable.example.com/v1', kind: 'CronTab', metadata: { name: 'a' }, spec: { rules: [rule] } },
      type: 'application/apply-patch+yaml',
    });
    assert.equal(code, 200, text);
  };
  await apply('one', { name: 'x', value: '1' });
  await apply('two', { name: 'y', value: '2' });
  const { body } = await server.ask('GET', `${cronTabs}/a`);
  assert.deepEqual(body.spec.rules, [
    { name: 'x', value: '1' },
    { name: 'y', value: '2' },
  ]);
  assert.equal(body.spec.replicas, 4);
  const selected = await server.ask('GET', `${cronTabs}?fieldSelector=spec.image%3Dbusybox`);
  assert.equal(selected.body.items.length, 1);
  const table = await server.ask('GET', cronTabs, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
  assert.deepEqual(table.body.rows[0].cells, ['a', '* * * * */5']);
  assert.equal((await watch.take(5)).length >= 5, true);
  watch.close();
});

test('applies a changed schema at run time to stored objects', async () => {
  await using server = await testServer();
  await install(server);
  await server.ask('POST', cronTabs, { body: cronTab('a', {}) });
  const { image: _, ...rest } = schema.properties.spec.properties;
  const properties = { ...rest, zone: { type: 'string', default: 'utc' } };
  const spec = { ...schema.properties.spec, properties };
  const next = { ...schema, properties: { ...schema.properties, spec } };
  const versions = [{ ...version, selectableFields: [], schema: { openAPIV3Schema: next } }];
  const changed = await server.ask('PATCH', `${crds}/crontabs.stable.example.com`, {
    body: { spec: { versions } },
    type: 'application/merge-patch+json',
  });
  assert.equal(changed.status, 200, changed.text);
  await until('the new schema is used', async () => {
    const { body } = await server.ask('GET', `${cronTabs}/a`);
    return body.spec.zone === 'utc' && body.spec.image === undefined;
  });
});

test('deletes all objects of a deleted definition, and waits for their finalizers', async () => {
  await using server = await testServer();
  await install(server);
  const held = { ...cronTab('held', {}), metadata: { name: 'held', finalizers: ['example.com/hold'] } };
  await server.ask('POST', cronTabs, { body: held });
  await server.ask('POST', cronTabs, { body: cronTab('free', {}) });
  const deleted = await server.ask('DELETE', `${crds}/crontabs.stable.example.com`);
  assert.equal(deleted.status, 200);
  await until('the free object is gone', async () => (await server.ask('GET', `${cronTabs}/free`)).status === 404);
  const refused = await server.ask('POST', cronTabs, { body: cronTab('new', {}) });
  assert.equal(refused.status, 405);
  assert.equal(refused.body.message, 'create not allowed while custom resource definition is terminating');
  await server.ask('PATCH', `${cronTabs}/held`, {
    body: { metadata: { finalizers: null } },
    type: 'application/merge-patch+json',
  });
  await until('the definition is gone', async () => {
    return (await server.ask('GET', `${crds}/crontabs.stable.example.com`)).status === 404;
  });
  await until('the resource is not served', async () => (await server.ask('GET', cronTabs)).status === 404);
});

test('names of another definition of the group are not accepted until they are free', async () => {
  await using server = await testServer();
  await install(server);
  const other = {
    ...definition,
    metadata: { name: 'others.stable.example.com' },
    spec: { ...definition.spec, names: { plural: 'others', kind: 'CronTab', shortNames: ['ct'] } },
  };
  await server.ask('POST', crds, { body: other });
  const conditions = async (): Promise<Record<string, string>> => {
    const { body } = await server.ask('GET', `${crds}/others.stable.example.com`);
    const entries = (body.status.conditions ?? []) as { type: string; status: string; reason: string }[];
    return Object.fromEntries(entries.map(({ type, status, reason }) => [type, `${status} ${reason}`]));
  };
  await until(
    'the conflict is reported',
    async () => (await conditions())['NamesAccepted']?.startsWith('False') === true,
  );
  assert.deepEqual(await conditions(), { NamesAccepted: 'False ListKindConflict', Established: 'False NotAccepted' });
  await server.ask('DELETE', `${crds}/crontabs.stable.example.com`);
  await until('the names are accepted', async () => (await conditions())['Established']?.startsWith('True') === true);
});

test('rejects schemas that are not structural', async () => {
  await using server = await testServer();
  const withSchema = (openAPIV3Schema: object): object => ({
    ...definition,
    spec: { ...definition.spec, versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }] },
  });
  const messageOf = async (given: object): Promise<string> =>
    (await server.ask('POST', crds, { body: withSchema(given) })).body.message;
  const path = 'spec.validation.openAPIV3Schema';
  assert.equal(
    await messageOf({ type: 'object', properties: { spec: { properties: { a: { type: 'string' } } } } }),
    `CustomResourceDefinition.apiextensions.k8s.io "crontabs.stable.example.com" is invalid: ${path}.properties[spec].type: Required value: must not be empty for specified object fields`,
  );
  assert.match(
    await messageOf({ type: 'object', properties: { spec: { type: 'string', pattern: '(?=a)' } } }),
    /pattern: Invalid value: "\(\?=a\)": must be a valid regular expression, but isn't: error parsing regexp: invalid or unsupported Perl syntax: `\(\?=`/,
  );
});

test('accepts the definition of a kind that the server itself serves, if it describes that kind', async () => {
  await using server = await testServer();
  const native = (versions: readonly string[], kind = 'ServiceExport'): object => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: 'serviceexports.multicluster.x-k8s.io',
      annotations: { 'api-approved.kubernetes.io': 'https://example.com/approval' },
    },
    spec: {
      group: 'multicluster.x-k8s.io',
      scope: 'Namespaced',
      names: { plural: 'serviceexports', kind },
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema: { type: 'object' } },
      })),
    },
  });
  const refused = await server.ask('POST', crds, { body: native(['v2']) });
  assert.equal(refused.status, 422);
  assert.equal(
    refused.body.message,
    'CustomResourceDefinition.apiextensions.k8s.io "serviceexports.multicluster.x-k8s.io" is invalid: spec: Forbidden: this server itself serves serviceexports.multicluster.x-k8s.io in versions "v1beta1", "v1alpha1", not in "v2"',
  );
  const renamed = await server.ask('POST', crds, { body: native(['v1beta1'], 'Export') });
  assert.match(renamed.body.message, /this server itself serves .* with kind "ServiceExport"/);
  await install(server, native(['v1beta1', 'v1alpha1']));
  const exports = '/apis/multicluster.x-k8s.io/v1beta1/namespaces/default/serviceexports';
  const made = await server.ask('POST', exports, {
    body: { apiVersion: 'multicluster.x-k8s.io/v1beta1', kind: 'ServiceExport', metadata: { name: 'a' } },
  });
  assert.equal(made.status, 201, made.text);
  await server.ask('DELETE', `${crds}/serviceexports.multicluster.x-k8s.io`);
  await until('the definition is gone', async () => {
    return (await server.ask('GET', `${crds}/serviceexports.multicluster.x-k8s.io`)).status === 404;
  });
  assert.equal((await server.ask('GET', `${exports}/a`)).status, 200);
});

test('serves several versions, and reads objects that were stored in another version', async () => {
  await using server = await testServer();
  const beta = {
    ...version,
    name: 'v1beta1',
    storage: false,
    selectableFields: [],
    schema: {
      openAPIV3Schema: {
        ...schema,
        properties: { spec: { type: 'object', properties: { cronSpec: { type: 'string' } } } },
      },
    },
  };
  await install(server, { ...definition, spec: { ...definition.spec, versions: [version, beta] } });
  await server.ask('POST', cronTabs, { body: cronTab('a', { replicas: 2 }) });
  const older = cronTabs.replace('/v1/', '/v1beta1/');
  const { body } = await server.ask('GET', `${older}/a`);
  assert.deepEqual([body.apiVersion, body.spec], ['stable.example.com/v1beta1', { cronSpec: '* * * * */5' }]);
  const versions = [
    { ...version, storage: false },
    { ...beta, storage: true },
  ];
  const type = 'application/merge-patch+json';
  const url = `${crds}/crontabs.stable.example.com`;
  const changed = await server.ask('PATCH', url, { body: { spec: { versions } }, type });
  assert.deepEqual(changed.body.status.storedVersions, ['v1', 'v1beta1']);
  await until('the object is read', async () => (await server.ask('GET', `${cronTabs}/a`)).status === 200);
  const removed = await server.ask('PATCH', url, { body: { spec: { versions: [{ ...beta, storage: true }] } }, type });
  assert.equal(removed.status, 422);
  assert.match(removed.body.message, /status\.storedVersions\[0\]: Invalid value: "v1": missing from spec\.versions/);
});

const withRules = (rules: readonly object[], more: object = {}): object => ({
  ...definition,
  spec: {
    ...definition.spec,
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                'x-kubernetes-validations': rules,
                properties: {
                  cronSpec: { type: 'string' },
                  min: { type: 'integer' },
                  max: { type: 'integer' },
                  ...more,
                },
              },
            },
          },
        },
      },
    ],
  },
});

test('evaluates CEL rules with their messages, paths and reasons', async () => {
  await using server = await testServer();
  await install(
    server,
    withRules([
      { rule: '!has(self.min) || !has(self.max) || self.min <= self.max', message: 'min must not exceed max' },
      {
        rule: '!has(self.min) || self.min > 0',
        messageExpression: '"min is %d".format([self.min])',
        fieldPath: '.min',
      },
      { rule: 'self.cronSpec == oldSelf.cronSpec', message: 'cronSpec is immutable', reason: 'FieldValueForbidden' },
    ]),
  );
  const refused = await server.ask('POST', cronTabs, { body: cronTab('a', { min: 3, max: 2 }) });
  assert.equal(
    refused.body.message,
    'CronTab.stable.example.com "a" is invalid: spec: Invalid value: min must not exceed max',
  );
  const negative = await server.ask('POST', cronTabs, { body: cronTab('a', { min: -1 }) });
  assert.equal(negative.body.message, 'CronTab.stable.example.com "a" is invalid: spec.min: Invalid value: min is -1');
  assert.equal((await server.ask('POST', cronTabs, { body: cronTab('a', { min: 1, max: 2 }) })).status, 201);
  const type = 'application/merge-patch+json';
  const changed = await server.ask('PATCH', `${cronTabs}/a`, { body: { spec: { cronSpec: 'x' } }, type });
  assert.equal(
    changed.body.message,
    'CronTab.stable.example.com "a" is invalid: spec: Forbidden: cronSpec is immutable',
  );
});

test('accepts what an update does not change, although a new rule forbids it', async () => {
  await using server = await testServer();
  await install(server, withRules([]));
  await server.ask('POST', cronTabs, { body: cronTab('a', { min: 5 }) });
  const next = withRules([{ rule: 'self.min < 5' }]) as { spec: object };
  const type = 'application/merge-patch+json';
  await server.ask('PATCH', `${crds}/crontabs.stable.example.com`, { body: { spec: next.spec }, type });
  await until('the rule is enforced', async () => {
    return (await server.ask('POST', `${cronTabs}?dryRun=All`, { body: cronTab('b', { min: 5 }) })).status === 422;
  });
  const labelled = await server.ask('PATCH', `${cronTabs}/a`, { body: { metadata: { labels: { a: 'b' } } }, type });
  assert.equal(labelled.status, 200, labelled.text);
  const changed = await server.ask('PATCH', `${cronTabs}/a`, { body: { spec: { min: 6 } }, type });
  assert.equal(
    changed.body.message,
    'CronTab.stable.example.com "a" is invalid: spec: Invalid value: failed rule: self.min < 5',
  );
});

test('rejects rules that do not compile, or that cost too much', async () => {
  await using server = await testServer();
  const messageOf = async (rule: string, more: object = {}): Promise<string> =>
    (await server.ask('POST', crds, { body: withRules([{ rule }], more) })).body.message;
  assert.match(await messageOf('self.none == 1'), /undefined field 'none'/);
  assert.match(await messageOf('1 + 1'), /cel expression must evaluate to a bool/);
  const list = { items: { type: 'array', items: { type: 'string' } } };
  assert.match(
    await messageOf('self.items.all(a, self.items.exists(b, a != b))', list),
    /rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x \(try simplifying the rule/,
  );
  const bounded = { items: { type: 'array', maxItems: 100, items: { type: 'string', maxLength: 20 } } };
  const accepted = await server.ask('POST', crds, {
    body: withRules([{ rule: 'self.items.all(a, self.items.exists(b, a != b))' }], bounded),
  });
  assert.equal(accepted.status, 201, accepted.text);
});

test('a resource that no definition has is an unknown path, as in Kubernetes', async () => {
  await using server = await testServer();
  await install(server);
  for (const path of [cronTabs.replace('crontabs', 'others'), cronTabs.replace('/v1/', '/v2/')]) {
    const { status, text } = await server.ask('GET', path);
    assert.deepEqual([status, text], [404, '404 page not found\n']);
  }
});

test('a quota counts custom resources from the time when their definition is installed', async () => {
  await using server = await testServer();
  const quotas = '/api/v1/namespaces/default/resourcequotas';
  const quota = { metadata: { name: 'tabs' }, spec: { hard: { 'count/crontabs.stable.example.com': '1' } } };
  assert.equal((await server.ask('POST', quotas, { body: quota })).status, 201);
  await install(server);
  assert.equal((await server.ask('POST', cronTabs, { body: cronTab('a', {}) })).status, 201);
  const { status, body } = await server.ask('POST', cronTabs, { body: cronTab('b', {}) });
  assert.equal(status, 403, body.message);
  assert.match(body.message, /exceeded quota: tabs/);
});

test('many definitions that are created at once get their names, and one of several with a name gets it', async () => {
  await using server = await testServer();
  const plurals = Array.from({ length: 200 }, (_, index) => `kind${index}s`);
  const named = (plural: string): object => ({
    ...definition,
    metadata: { name: `${plural}.stable.example.com` },
    spec: { ...definition.spec, names: { plural, kind: plural.toUpperCase(), shortNames: [`k${plural.length}`] } },
  });
  const created = await Promise.all(plurals.map((plural) => server.ask('POST', crds, { body: named(plural) })));
  assert.ok(created.every(({ status }) => status === 201));
  const accepted = async (): Promise<{ name: string; status: string }[]> => {
    const { body } = await server.ask('GET', crds);
    return body.items.flatMap((crd: { metadata: { name: string }; status: { conditions?: Condition[] } }) =>
      (crd.status.conditions ?? [])
        .filter(({ type }) => type === 'NamesAccepted')
        .map(({ status }) => ({ name: crd.metadata.name, status })),
    );
  };
  await until('all are decided', async () => (await accepted()).length === plurals.length);
  const winners = (await accepted()).filter(({ status }) => status === 'True');
  // kind0s, kind10s and kind100s have short names of three lengths, each of which one definition gets.
  assert.deepEqual(new Set(winners.map(({ name }) => name.indexOf('.'))), new Set([6, 7, 8]));
  for (const { name } of winners) assert.equal((await server.ask('DELETE', `${crds}/${name}`)).status, 200);
  await until('others get the names', async () => {
    const next = (await accepted()).filter(({ status }) => status === 'True');
    return next.length === 3 && next.every(({ name }) => winners.every((winner) => winner.name !== name));
  });
});

interface Condition {
  readonly type: string;
  readonly status: string;
}
