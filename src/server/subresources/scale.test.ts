import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { testServer } from '../testing/server.ts';

type Server = Awaited<ReturnType<typeof testServer>>;

const deployments = '/apis/apps/v1/namespaces/default/deployments';
const merge = 'application/merge-patch+json';
const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web' }] } };
const web = { metadata: { name: 'web' }, spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template } };

async function withDeployment(): Promise<Server> {
  const server = await testServer();
  const { status, text } = await server.ask('POST', `${deployments}?fieldManager=author`, { body: web });
  assert.equal(status, 201, text);
  return server;
}

interface Owner {
  readonly manager: string;
  readonly subresource?: string;
  readonly apiVersion: string;
  readonly fieldsV1: { readonly 'f:spec': object };
}

const scaled = (replicas: number, metadata: object = {}): object => ({
  kind: 'Scale',
  apiVersion: 'autoscaling/v1',
  metadata: { name: 'web', ...metadata },
  spec: { replicas },
});

suite('scale', () => {
  test('is a Scale with the identity of the workload, its replicas and its selector', async () => {
    await using server = await withDeployment();
    const { body: whole } = await server.ask('GET', `${deployments}/web`);
    const { uid, resourceVersion, creationTimestamp } = whole.metadata;
    const { status, body } = await server.ask('GET', `${deployments}/web/scale`);
    assert.equal(status, 200);
    assert.deepEqual(body, {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'web', namespace: 'default', uid, resourceVersion, creationTimestamp },
      spec: { replicas: 2 },
      status: { replicas: 0, selector: 'app=web' },
    });
  });

  const others = [
    { path: '/apis/apps/v1/namespaces/default/replicasets', spec: web.spec },
    { path: '/apis/apps/v1/namespaces/default/statefulsets', spec: { ...web.spec, serviceName: 'web' } },
    { path: '/api/v1/namespaces/default/replicationcontrollers', spec: { replicas: 2, template } },
  ];
  for (const { path, spec } of others) {
    test(`changes the replicas of ${path.split('/').at(-1)}`, async () => {
      await using server = await testServer();
      await server.ask('POST', path, { body: { metadata: { name: 'web' }, spec } });
      const { status, body, text } = await server.ask('PUT', `${path}/web/scale`, { body: scaled(7) });
      assert.equal(status, 200, text);
      assert.deepEqual([body.spec, body.status.selector], [{ replicas: 7 }, 'app=web']);
      const { body: object } = await server.ask('GET', `${path}/web`);
      assert.deepEqual([object.spec.replicas, object.metadata.generation], [7, 2]);
    });
  }

  test('the writer takes the replicas over, with an entry for the subresource', async () => {
    await using server = await withDeployment();
    await server.ask('PATCH', `${deployments}/web/scale?fieldManager=scaler`, {
      type: merge,
      body: { spec: { replicas: 5 } },
    });
    const { body } = await server.ask('GET', `${deployments}/web`);
    assert.equal(body.spec.replicas, 5);
    const owners = body.metadata.managedFields.map(({ manager, subresource = '', apiVersion, fieldsV1 }: Owner) => [
      manager,
      subresource,
      apiVersion,
      Object.hasOwn(fieldsV1['f:spec'], 'f:replicas'),
    ]);
    assert.deepEqual(owners.toSorted(), [
      ['author', '', 'apps/v1', false],
      ['scaler', 'scale', 'apps/v1', true],
    ]);
  });

  test('an apply conflicts with the owner of the replicas, unless it is forced', async () => {
    await using server = await withDeployment();
    const apply = (options: string) =>
      server.ask('PATCH', `${deployments}/web/scale?fieldManager=scaler${options}`, {
        type: 'application/apply-patch+yaml',
        body: scaled(4),
      });
    const refused = await apply('');
    assert.equal(refused.status, 409, refused.text);
    assert.match(refused.text, /conflict with \\"author\\" using autoscaling\/v1: \.spec\.replicas/);
    const forced = await apply('&force=true');
    assert.deepEqual([forced.status, forced.body.spec], [200, { replicas: 4 }], forced.text);
    const { body } = await server.ask('GET', `${deployments}/web`);
    const entry = body.metadata.managedFields.find(({ manager }: { manager: string }) => manager === 'scaler');
    assert.deepEqual(
      [entry.operation, entry.apiVersion, entry.subresource, entry.fieldsV1],
      ['Apply', 'apps/v1', 'scale', { 'f:spec': { 'f:replicas': {} } }],
    );
  });

  const refusals = [
    {
      name: 'negative replicas',
      body: scaled(-1),
      want: [
        422,
        'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
      ],
    },
    {
      name: 'another UID',
      body: scaled(1, { uid: 'x' }),
      want: [
        409,
        /^Operation cannot be fulfilled on deployments\/scale\.apps "web": Precondition failed: UID in precondition: x, UID in object meta: .+$/,
      ],
    },
    {
      name: 'an old resource version',
      body: scaled(1, { resourceVersion: '1' }),
      want: [
        409,
        'Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version and try again',
      ],
    },
    {
      name: 'a Deployment as body',
      body: { ...web, kind: 'Deployment', apiVersion: 'apps/v1' },
      want: [400, /^Deployment in version "v1" cannot be handled as a Scale/],
    },
  ] as const;
  for (const { name, body, want } of refusals) {
    test(`rejects ${name}`, async () => {
      await using server = await withDeployment();
      const answer = await server.ask('PUT', `${deployments}/web/scale`, { body });
      assert.equal(answer.status, want[0], answer.text);
      if (typeof want[1] === 'string') assert.equal(answer.body.message, want[1]);
      else assert.match(answer.body.message, want[1]);
    });
  }

  test('a missing workload is a 404', async () => {
    await using server = await testServer();
    const read = await server.ask('GET', `${deployments}/web/scale`);
    const written = await server.ask('PUT', `${deployments}/web/scale`, { body: scaled(1) });
    assert.deepEqual(
      [read.body.message, written.body.message],
      ['deployments.apps "web" not found', 'deployments.apps "web" not found'],
    );
  });

  test('a dry run changes nothing', async () => {
    await using server = await withDeployment();
    const { body } = await server.ask('PUT', `${deployments}/web/scale?dryRun=All`, { body: scaled(9) });
    assert.equal(body.spec.replicas, 9);
    assert.equal((await server.ask('GET', `${deployments}/web`)).body.spec.replicas, 2);
  });

  test('is served as a Table', async () => {
    await using server = await withDeployment();
    const { body } = await server.ask('GET', `${deployments}/web/scale`, {
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    });
    const [name, desired, available] = body.rows[0].cells;
    assert.deepEqual([name, desired, available], ['web', 2, 0]);
  });
});
