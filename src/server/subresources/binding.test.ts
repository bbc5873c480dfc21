import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { Answer, TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

const pods = '/api/v1/namespaces/default/pods';

async function serverWithPod(spec: object = {}): Promise<TestServer> {
  const server = await testServer();
  const body = {
    metadata: { name: 'web', annotations: { a: '1' } },
    spec: { containers: [{ name: 'c', image: 'i:1' }], ...spec },
  };
  assert.equal((await server.ask('POST', pods, { body })).status, 201);
  return server;
}

const bind = (server: TestServer, body: object = {}, query = ''): Promise<Answer> =>
  server.ask('POST', `${pods}/web/binding${query}`, {
    body: { metadata: { name: 'web' }, target: { kind: 'Node', name: 'n1' }, ...body },
  });

suite('binding', () => {
  test('sets the node and the condition in one write and keeps the generation', async () => {
    await using server = await serverWithPod();
    const before = (await server.ask('GET', `${pods}/web`)).body;
    const { status, body } = await bind(server, { metadata: { name: 'web', annotations: { b: '2' } } });
    assert.deepEqual([status, body.status, body.kind], [201, 'Success', 'Status']);
    const { body: pod } = await server.ask('GET', `${pods}/web`);
    assert.equal(pod.spec.nodeName, 'n1');
    assert.deepEqual(pod.metadata.annotations, { a: '1', b: '2' });
    assert.equal(pod.metadata.generation, before.metadata.generation);
    const { lastTransitionTime: _, ...condition } = pod.status.conditions[0];
    assert.deepEqual(condition, { type: 'PodScheduled', status: 'True', lastProbeTime: null });
  });

  test('a dry run changes nothing', async () => {
    await using server = await serverWithPod();
    assert.equal((await bind(server, {}, '?dryRun=All')).status, 201);
    assert.equal((await server.ask('GET', `${pods}/web`)).body.spec.nodeName, undefined);
  });

  const prefix = 'Operation cannot be fulfilled on pods/binding "web": ';
  const refusals = [
    {
      name: 'a Pod on a node',
      spec: { nodeName: 'n0' },
      code: 409,
      why: `${prefix}pod web is already assigned to node "n0"`,
    },
    {
      name: 'a Pod with scheduling gates',
      spec: { schedulingGates: [{ name: 'example.org/wait' }] },
      code: 409,
      why: `${prefix}pod web has non-empty .spec.schedulingGates`,
    },
    {
      name: 'a target that is not a node',
      body: { target: { kind: 'Pod', name: 'n1' } },
      code: 500,
      why: 'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
    },
    { name: 'a target without a name', body: { target: {} }, code: 500, why: 'target.name: Required value' },
    {
      name: 'another name than that of the URL',
      body: { metadata: { name: 'other' } },
      code: 400,
      why: 'name in URL does not match name in Binding object',
    },
  ];
  for (const { name, spec, body, code, why } of refusals) {
    test(`rejects ${name}`, async () => {
      await using server = await serverWithPod(spec);
      const answer = await bind(server, body);
      assert.deepEqual([answer.status, answer.body.message], [code, why]);
    });
  }

  test('rejects a Pod with another UID', async () => {
    await using server = await serverWithPod();
    const { status, body } = await bind(server, { metadata: { name: 'web', uid: 'other' } });
    assert.equal(status, 409);
    assert.match(body.message, /Precondition failed: UID in precondition: other/);
  });
});
