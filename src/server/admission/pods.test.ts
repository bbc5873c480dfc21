import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { Answer, TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { pluginNames } from './plugins.ts';

const pods = '/api/v1/namespaces/default/pods';
const priorities = '/apis/scheduling.k8s.io/v1/priorityclasses';

async function must(server: TestServer, method: string, path: string, body: object): Promise<Answer['body']> {
  const type = method === 'PATCH' ? { type: 'application/merge-patch+json' } : {};
  const answer = await server.ask(method, path, { body, ...type });
  assert.ok(answer.status < 300, answer.text);
  return answer.body;
}

const createPod = (server: TestServer, spec: object = {}): Promise<Answer> =>
  server.ask('POST', `${pods}?dryRun=All`, {
    body: { metadata: { name: 'web' }, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } },
  });

suite('Priority', () => {
  test('sets priority 0 where there is no default class', async () => {
    await using server = await testServer();
    const { spec } = (await createPod(server)).body;
    assert.deepEqual(
      [spec.priorityClassName, spec.priority, spec.preemptionPolicy],
      [undefined, 0, 'PreemptLowerPriority'],
    );
  });

  test('sets the priority and policy of the class, and of the default class', async () => {
    await using server = await testServer();
    await must(server, 'POST', priorities, { metadata: { name: 'high' }, value: 100, preemptionPolicy: 'Never' });
    await must(server, 'POST', priorities, { metadata: { name: 'usual' }, value: 5, globalDefault: true });
    const { spec: named } = (await createPod(server, { priorityClassName: 'high' })).body;
    assert.deepEqual([named.priority, named.preemptionPolicy], [100, 'Never']);
    const { spec } = (await createPod(server)).body;
    assert.deepEqual([spec.priorityClassName, spec.priority], ['usual', 5]);
  });

  const rejected = [
    {
      name: 'an unknown class',
      spec: { priorityClassName: 'none' },
      message: 'pods "web" is forbidden: no PriorityClass with name none was found',
    },
    {
      name: 'another priority than that of the class',
      spec: { priority: 7 },
      message:
        'pods "web" is forbidden: the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name',
    },
    {
      name: 'another policy than that of the class',
      spec: { preemptionPolicy: 'Never' },
      message:
        'pods "web" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name',
    },
  ];
  for (const { name, spec, message } of rejected) {
    test(`rejects ${name}`, async () => {
      await using server = await testServer();
      const { status, body } = await createPod(server, spec);
      assert.deepEqual([status, body.message], [403, message]);
    });
  }

  test('rejects a second default class, created or changed, and changes the default one', async () => {
    await using server = await testServer();
    await must(server, 'POST', priorities, { metadata: { name: 'usual' }, value: 5, globalDefault: true });
    await must(server, 'POST', priorities, { metadata: { name: 'other' }, value: 6 });
    const second = await server.ask('POST', priorities, {
      body: { metadata: { name: 'b' }, value: 7, globalDefault: true },
    });
    const message = 'is forbidden: PriorityClass usual is already marked as default. Only one default can exist';
    assert.deepEqual([second.status, second.body.message], [403, `priorityclasses.scheduling.k8s.io "b" ${message}`]);
    const type = 'application/merge-patch+json';
    const changed = await server.ask('PATCH', `${priorities}/other`, { type, body: { globalDefault: true } });
    assert.deepEqual(
      [changed.status, changed.body.message],
      [403, `priorityclasses.scheduling.k8s.io "other" ${message}`],
    );
    await must(server, 'PATCH', `${priorities}/usual`, { description: 'for all' });
  });

  test('keeps the priority of a Pod that is replaced without one', async () => {
    await using server = await testServer();
    const body = { metadata: { name: 'web' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    await must(server, 'POST', pods, body);
    const { spec } = await must(server, 'PUT', `${pods}/web`, {
      ...body,
      spec: { containers: [{ name: 'c', image: 'j' }] },
    });
    assert.deepEqual([spec.priority, spec.containers[0].image], [0, 'j']);
  });
});

suite('DefaultTolerationSeconds', () => {
  const five = (key: string): object => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 });
  const [notReady, unreachable] = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'] as const;
  const cases = [
    { name: 'adds both tolerations', given: [], want: [five(notReady), five(unreachable)] },
    {
      name: 'keeps a toleration of the taint',
      given: [{ key: notReady, operator: 'Exists', effect: 'NoExecute' }],
      want: [{ key: notReady, operator: 'Exists', effect: 'NoExecute' }, five(unreachable)],
    },
    {
      name: 'adds none to a Pod that tolerates all taints',
      given: [{ operator: 'Exists' }],
      want: [{ operator: 'Exists' }],
    },
  ];
  for (const { name, given, want } of cases) {
    test(name, async () => {
      await using server = await testServer();
      const { body } = await createPod(server, { tolerations: given });
      assert.deepEqual(body.spec.tolerations, want);
    });
  }
});

suite('DefaultStorageClass', () => {
  test('sets the default class in a claim without one, and keeps an empty name', async () => {
    await using server = await testServer();
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
    await must(server, 'POST', '/apis/storage.k8s.io/v1/storageclasses', {
      metadata: { name: 'fast', annotations },
      provisioner: 'csi.example.org',
    });
    const claims = '/api/v1/namespaces/default/persistentvolumeclaims';
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    const created = await must(server, 'POST', claims, { metadata: { name: 'a' }, spec });
    assert.equal(created.spec.storageClassName, 'fast');
    const none = await must(server, 'POST', claims, {
      metadata: { name: 'b' },
      spec: { ...spec, storageClassName: '' },
    });
    assert.equal(none.spec.storageClassName, '');
  });
});

suite('RuntimeClass', () => {
  const kata = {
    metadata: { name: 'kata' },
    handler: 'kata',
    overhead: { podFixed: { cpu: '250m' } },
    scheduling: { nodeSelector: { vm: 'yes' }, tolerations: [{ key: 'vm', operator: 'Exists' }] },
  };

  test('adds the overhead, node labels and tolerations of the class', async () => {
    await using server = await testServer();
    await must(server, 'POST', '/apis/node.k8s.io/v1/runtimeclasses', kata);
    const tolerations = [{ operator: 'Exists' }];
    const { body } = await createPod(server, { runtimeClassName: 'kata', tolerations, nodeSelector: { disk: 'ssd' } });
    assert.deepEqual(
      [body.spec.overhead, body.spec.nodeSelector, body.spec.tolerations],
      [{ cpu: '250m' }, { disk: 'ssd', vm: 'yes' }, tolerations],
    );
  });

  const rejected = [
    {
      name: 'an unknown class',
      spec: { runtimeClassName: 'none' },
      why: 'pod rejected: RuntimeClass "none" not found',
    },
    {
      name: 'an overhead without a class',
      spec: { overhead: { cpu: '1' } },
      why: 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
    },
    {
      name: 'another overhead than that of the class',
      spec: { runtimeClassName: 'kata', overhead: { cpu: '1' } },
      why: "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    },
    {
      name: 'another node label than that of the class',
      spec: { runtimeClassName: 'kata', nodeSelector: { vm: 'no' } },
      why: 'conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no',
    },
  ];
  for (const { name, spec, why } of rejected) {
    test(`rejects ${name}`, async () => {
      await using server = await testServer();
      await must(server, 'POST', '/apis/node.k8s.io/v1/runtimeclasses', kata);
      const { status, body } = await createPod(server, spec);
      assert.deepEqual([status, body.message], [403, `pods "web" is forbidden: ${why}`]);
    });
  }
});

test('plugins that are disabled change nothing', async () => {
  const off = ['Priority', 'DefaultTolerationSeconds', 'RuntimeClass'];
  await using server = await testServer({
    admissionPlugins: new Set(pluginNames.filter((name) => !off.includes(name))),
  });
  const { body } = await createPod(server, { runtimeClassName: 'none', priorityClassName: 'none' });
  assert.deepEqual([body.spec.priority, body.spec.tolerations], [undefined, undefined]);
});
