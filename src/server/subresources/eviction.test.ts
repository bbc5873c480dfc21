import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { testServer } from '../testing/server.ts';

type Server = Awaited<ReturnType<typeof testServer>>;

const pods = '/api/v1/namespaces/default/pods';
const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const merge = 'application/merge-patch+json';
const selector = { matchLabels: { app: 'web' } };
const violated = "Cannot evict pod as it would violate the pod's disruption budget.";

interface Setting {
  readonly phase?: string;
  readonly isReady?: boolean;
  readonly spec?: object;
  /** The status of the budget; absent: none was written. */
  readonly status?: object;
}

/** A server with a Pod `web-0` on a node, and a budget for it. */
async function protectedPod({ phase = 'Running', isReady = true, spec = {}, status }: Setting): Promise<Server> {
  const server = await testServer();
  const containers = [{ name: 'web', image: 'web' }];
  await server.ask('POST', pods, {
    body: { metadata: { name: 'web-0', labels: { app: 'web' } }, spec: { nodeName: 'n', containers } },
  });
  const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }];
  await server.ask('PATCH', `${pods}/web-0/status`, { type: merge, body: { status: { phase, conditions } } });
  const created = await server.ask('POST', budgets, {
    body: { metadata: { name: 'web' }, spec: { minAvailable: 1, selector, ...spec } },
  });
  assert.equal(created.status, 201, created.text);
  if (status === undefined) return server;
  const counts = { observedGeneration: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, ...status };
  const written = await server.ask('PATCH', `${budgets}/web/status`, { type: merge, body: { status: counts } });
  assert.equal(written.status, 200, written.text);
  return server;
}

const evict = (server: Server, options: { more?: object; query?: string; name?: string } = {}) => {
  const { more = {}, query = '', name = 'web-0' } = options;
  return server.ask('POST', `${pods}/${name}/eviction${query}`, {
    body: { kind: 'Eviction', apiVersion: 'policy/v1', metadata: { name }, ...more },
  });
};

suite('eviction', () => {
  test('marks and deletes a Pod, and counts that in the budget', async () => {
    await using server = await protectedPod({ status: { disruptionsAllowed: 1 } });
    const { status, body } = await evict(server);
    assert.deepEqual(
      [status, body],
      [201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }],
    );
    const { body: pod } = await server.ask('GET', `${pods}/web-0`);
    assert.equal(pod.metadata.deletionGracePeriodSeconds, 30);
    const { lastTransitionTime: _, ...condition } = pod.status.conditions.at(-1);
    assert.deepEqual(condition, {
      type: 'DisruptionTarget',
      status: 'True',
      lastProbeTime: null,
      reason: 'EvictionByEvictionAPI',
      message: 'Eviction API: evicting',
    });
    const { body: budget } = await server.ask('GET', `${budgets}/web`);
    assert.equal(budget.status.disruptionsAllowed, 0);
    assert.deepEqual(Object.keys(budget.status.disruptedPods), ['web-0']);
    const [{ type, status: is, reason, observedGeneration }] = budget.status.conditions;
    assert.deepEqual([type, is, reason, observedGeneration], ['DisruptionAllowed', 'False', 'InsufficientPods', 1]);
    assert.equal((await evict(server)).status, 201, 'a Pod that terminates is not protected');
  });

  const refusals = [
    {
      name: 'no controller has written the status of the budget',
      status: undefined,
      why: 'The disruption budget web is still being processed by the server.',
      retry: 10,
    },
    {
      name: 'too few Pods are healthy',
      status: { disruptionsAllowed: 0, currentHealthy: 1 },
      why: 'The disruption budget web needs 1 healthy pods and has 1 currently',
    },
    {
      name: 'the controller of the budget failed',
      status: {
        disruptionsAllowed: 0,
        conditions: [
          {
            type: 'DisruptionAllowed',
            status: 'False',
            reason: 'SyncFailed',
            message: 'no scale',
            lastTransitionTime: '2026-01-01T00:00:00Z',
          },
        ],
      },
      why: 'The disruption budget web does not allow evicting pods currently because it failed sync: no scale',
    },
    {
      name: 'no disruption is allowed',
      status: { disruptionsAllowed: 0 },
      why: 'The disruption budget web does not allow evicting pods currently',
    },
  ];
  for (const { name, status: given, why, retry } of refusals) {
    test(`is a 429 while ${name}`, async () => {
      await using server = await protectedPod(given === undefined ? {} : { status: given });
      const { status, body } = await evict(server);
      assert.deepEqual([status, body.reason, body.message], [429, 'TooManyRequests', violated]);
      assert.deepEqual(body.details.causes, [{ reason: 'DisruptionBudget', message: why }]);
      assert.equal(body.details.retryAfterSeconds, retry);
      assert.equal((await server.ask('GET', `${pods}/web-0`)).body.metadata.deletionTimestamp, undefined);
    });
  }

  const allowed: readonly (Setting & { readonly name: string })[] = [
    { name: 'a Pod that has not started', phase: 'Pending' },
    { name: 'a Pod that has failed', phase: 'Failed' },
    {
      name: 'a Pod that is not ready while enough others are',
      isReady: false,
      status: { disruptionsAllowed: 0, currentHealthy: 1 },
    },
    {
      name: 'any Pod that is not ready with the policy AlwaysAllow',
      isReady: false,
      spec: { unhealthyPodEvictionPolicy: 'AlwaysAllow' },
      status: { disruptionsAllowed: 0, currentHealthy: 0 },
    },
    { name: 'a Pod that the budget does not select', spec: { selector: { matchLabels: { app: 'other' } } } },
  ];
  for (const { name, ...setting } of allowed) {
    test(`deletes ${name}`, async () => {
      await using server = await protectedPod(setting);
      const { status, text } = await evict(server, { more: { deleteOptions: { gracePeriodSeconds: 0 } } });
      assert.equal(status, 201, text);
      assert.equal((await server.ask('GET', `${pods}/web-0`)).status, 404);
      const { body } = await server.ask('GET', `${budgets}/web`);
      assert.equal(body.status.disruptedPods, undefined);
    });
  }

  test('of two Pods at once, only as many as the budget allows', async () => {
    await using server = await protectedPod({
      status: { disruptionsAllowed: 1, currentHealthy: 1, desiredHealthy: 1 },
    });
    const { body: first } = await server.ask('GET', `${pods}/web-0`);
    await server.ask('POST', pods, { body: { metadata: { name: 'web-1', labels: { app: 'web' } }, spec: first.spec } });
    const { conditions } = first.status;
    await server.ask('PATCH', `${pods}/web-1/status`, {
      type: merge,
      body: { status: { phase: 'Running', conditions } },
    });
    const answers = await Promise.all(['web-0', 'web-1'].map((name) => evict(server, { name })));
    assert.deepEqual(answers.map(({ status }) => String(status)).toSorted(), ['201', '429']);
  });

  test('a dry run deletes and counts nothing', async () => {
    await using server = await protectedPod({ status: { disruptionsAllowed: 1 } });
    assert.equal((await evict(server, { query: '?dryRun=All' })).status, 201);
    assert.equal((await evict(server, { more: { deleteOptions: { dryRun: ['All'] } } })).status, 201);
    assert.equal((await server.ask('GET', `${pods}/web-0`)).body.metadata.deletionTimestamp, undefined);
    assert.equal((await server.ask('GET', `${budgets}/web`)).body.status.disruptionsAllowed, 1);
  });

  test('is a 500 for a Pod with two budgets', async () => {
    await using server = await protectedPod({ status: { disruptionsAllowed: 1 } });
    await server.ask('POST', budgets, { body: { metadata: { name: 'more' }, spec: { selector } } });
    const { status, body } = await evict(server);
    assert.equal(status, 500);
    assert.equal(
      body.message,
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  });

  const invalid = [
    {
      name: 'another name in the body',
      more: { metadata: { name: 'b' } },
      want: [400, 'name in URL does not match name in Eviction object'],
    },
    {
      name: 'another namespace in the body',
      more: { metadata: { name: 'web-0', namespace: 'b' } },
      want: [400, 'the namespace of the provided object does not match the namespace sent on the request'],
    },
    {
      name: 'an option that evictions do not have',
      more: { deleteOptions: { ignoreStoreReadErrorWithClusterBreakingPotential: true } },
      want: [
        422,
        'Eviction.policy "web-0" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: can not be set for pod eviction, try after removing the option',
      ],
    },
    {
      name: 'contradictory dry-run options',
      query: '?dryRun=All',
      more: { deleteOptions: { dryRun: ['None'] } },
      want: [500, 'Non-matching dry-run options in request and content: [All] and [None]'],
    },
    {
      name: 'a Pod as body',
      more: { kind: 'Pod', apiVersion: 'v1' },
      want: [
        400,
        'Pod in version "v1" cannot be handled as a Eviction: converting (v1.Pod) to (policy.Eviction): unknown conversion',
      ],
    },
    {
      name: 'the UID of another Pod',
      more: { deleteOptions: { preconditions: { uid: 'x' } } },
      want: [409, /^Operation cannot be fulfilled on Pod "web-0": the UID in the precondition \(x\) does not match/],
    },
  ] as const;
  for (const { name, want, ...options } of invalid) {
    test(`rejects ${name}`, async () => {
      await using server = await protectedPod({ status: { disruptionsAllowed: 1 } });
      const { status, body } = await evict(server, options);
      assert.equal(status, want[0]);
      if (typeof want[1] === 'string') assert.equal(body.message, want[1]);
      else assert.match(body.message, want[1]);
    });
  }

  test('a missing Pod is a 404', async () => {
    await using server = await testServer();
    const { status, body } = await evict(server);
    assert.deepEqual([status, body.message], [404, 'pods "web-0" not found']);
  });
});
