import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { Answer, TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

const core = '/api/v1/namespaces/default';

async function limit(server: TestServer, item: object): Promise<void> {
  const body = { metadata: { name: 'limits' }, spec: { limits: [item] } };
  const { status, text } = await server.ask('POST', `${core}/limitranges`, { body });
  assert.equal(status, 201, text);
}

const createPod = (server: TestServer, resources: object = {}, name = 'web'): Promise<Answer> =>
  server.ask('POST', `${core}/pods`, {
    body: { metadata: { name }, spec: { containers: [{ name: 'c', image: 'i', resources }] } },
  });

suite('LimitRanger', () => {
  test('gives containers the default requests and limits, and states which', async () => {
    await using server = await testServer();
    await limit(server, { type: 'Container', default: { cpu: '500m', memory: '1Gi' }, defaultRequest: { cpu: '0.1' } });
    const { body } = await createPod(server, { limits: { cpu: '200m' } });
    assert.deepEqual(body.spec.containers[0].resources, {
      limits: { cpu: '200m', memory: '1Gi' },
      requests: { cpu: '200m', memory: '1Gi' },
    });
    assert.equal(
      body.metadata.annotations['kubernetes.io/limit-ranger'],
      'LimitRanger plugin set: memory request for container c; memory limit for container c',
    );
  });

  const cases = [
    {
      name: 'a request below the minimum',
      item: { type: 'Container', min: { cpu: '100m' } },
      resources: { requests: { cpu: '50m' } },
      why: 'minimum cpu usage per Container is 100m, but request is 50m',
    },
    {
      name: 'a limit above the maximum',
      item: { type: 'Container', max: { memory: '1Gi' } },
      resources: { limits: { memory: '2Gi' } },
      why: '[maximum memory usage per Container is 1Gi, but limit is 2Gi]',
    },
    {
      name: 'a ratio of limit to request above the maximum',
      item: { type: 'Container', maxLimitRequestRatio: { cpu: '2' } },
      resources: { requests: { cpu: '100m' }, limits: { cpu: '300m' } },
      why: 'cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000',
    },
    {
      name: 'a Pod without the limit that Pods need',
      item: { type: 'Pod', max: { cpu: '1' } },
      resources: {},
      why: 'maximum cpu usage per Pod is 1.  No limit is specified',
    },
  ];
  for (const { name, item, resources, why } of cases) {
    test(`rejects ${name}`, async () => {
      await using server = await testServer();
      await limit(server, item);
      const { status, body } = await createPod(server, resources);
      assert.deepEqual([status, body.message], [403, `pods "web" is forbidden: ${why.replaceAll(/^\[|\]$/g, '')}`]);
    });
  }

  test('rejects a claim that requests too much, and leaves Pods that exist alone', async () => {
    await using server = await testServer();
    assert.equal((await createPod(server)).status, 201);
    await limit(server, { type: 'PersistentVolumeClaim', max: { storage: '1Gi' } });
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } };
    const claim = await server.ask('POST', `${core}/persistentvolumeclaims`, {
      body: { metadata: { name: 'data' }, spec },
    });
    const why = 'maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi';
    assert.deepEqual([claim.status, claim.body.message], [403, `persistentvolumeclaims "data" is forbidden: ${why}`]);
    const type = 'application/merge-patch+json';
    const body = { metadata: { labels: { a: 'b' } } };
    assert.equal((await server.ask('PATCH', `${core}/pods/web`, { type, body })).status, 200);
  });
});

suite('LimitRange', () => {
  const errorsOf = async (limits: readonly object[]): Promise<string> => {
    await using server = await testServer();
    const body = { metadata: { name: 'l' }, spec: { limits } };
    const { body: answer } = await server.ask('POST', `${core}/limitranges`, { body });
    return String(answer.message).replace('LimitRange "l" is invalid: ', '');
  };
  const cases = [
    {
      name: 'an unknown type',
      limits: [{ type: 'a' }],
      want: 'spec.limits[0].type: Invalid value: "a": must be a standard limit type or fully qualified',
    },
    {
      name: 'a type twice',
      limits: [{ type: 'Pod' }, { type: 'Pod' }],
      want: 'spec.limits[1].type: Duplicate value: "Pod"',
    },
    {
      name: 'defaults for Pods',
      limits: [{ type: 'Pod', default: { cpu: '1' } }],
      want: "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
    },
    {
      name: 'claims without storage',
      limits: [{ type: 'PersistentVolumeClaim' }],
      want: 'spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided',
    },
    {
      name: 'a minimum above the maximum',
      limits: [{ type: 'Pod', min: { cpu: '2' }, max: { cpu: '1' } }],
      want: 'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
    },
    {
      name: 'a ratio below one',
      limits: [{ type: 'Pod', maxLimitRequestRatio: { cpu: '500m' } }],
      want: 'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1',
    },
    {
      name: 'a resource that containers do not have',
      limits: [{ type: 'Pod', max: { pods: '5' } }],
      want: 'spec.limits[0].max[pods]: Invalid value: "pods": must be a standard resource for containers',
    },
  ];
  for (const { name, limits, want } of cases) {
    test(`rejects ${name}`, async () => {
      assert.equal(await errorsOf(limits), want);
    });
  }
});
