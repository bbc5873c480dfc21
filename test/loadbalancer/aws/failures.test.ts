// With failures, lost responses, throttling and delayed lists of AWS, the result is the same as without.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Service } from '../../../src/api/kinds/core/service/schema.ts';
import type { Backends } from '../../../src/loadbalancer/controller/provider.ts';
import { RetryError } from '../../../src/loadbalancer/controller/provider.ts';
import { tcpUdpListener } from '../../../src/loadbalancer/clouds/aws.ts';
import { serviceWith } from '../../../src/loadbalancer/testing/service.ts';
import { toNodes } from '../../../src/loadbalancer/providers/aws/testing/backends.ts';
import { inventory } from './inventory.ts';
import { retrying } from './retrying.ts';
import { AwsProvider } from '../../../src/loadbalancer/providers/aws/provider.ts';
import type { StandInPeer } from './testing/peer.ts';
import { standInPeer } from './testing/peer.ts';
import type { Failure } from './testing/server.ts';
import { throttling } from './testing/server.ts';

const { signal } = new AbortController();
const annotations = { [tcpUdpListener]: 'true' };
const before = serviceWith('80/TCP 81/UDP', { annotations });
const after = serviceWith('80/TCP 53/TCP 53/UDP 443/TCP', { annotations });

const providerAt = (peer: StandInPeer): AwsProvider =>
  new AwsProvider({ ...peer, cluster: 'east', securityGroups: [], isMixingAllowed: true });

/** The result for a Service without failures. */
async function outcomeOf(service: Service): Promise<readonly string[]> {
  await using peer = await standInPeer();
  await retrying(() => providerAt(peer).ensure(service, backendsOf(peer), signal));
  return await inventory(peer);
}

const backendsOf = ({ instances }: StandInPeer): Backends => toNodes(instances);

/** The connection closes without a response, before or after the work, as after a crash. */
const crashes: readonly (readonly [string, Failure])[] = [
  ['before it is done', { isDone: false }],
  ['after it is done', { isDone: true }],
];

/** Runs an operation of which one write fails. */
type Fail = (work: () => Promise<unknown>) => Promise<void>;

/** Fails each write of an operation in turn, until the operation completes before the failure. Returns their number. */
async function failingEach(failure: Failure, round: (peer: StandInPeer, fail: Fail) => Promise<void>): Promise<number> {
  for (let number = 1, hasFailed = true; ; number++) {
    await using peer = await standInPeer();
    await round(peer, async (work) => {
      let writes = 0;
      peer.standIn.injectFault = (action) => {
        writes += action.startsWith('Describe') ? 0 : 1;
        return writes === number && !action.startsWith('Describe') ? failure : undefined;
      };
      const outcome = await work().catch((error: unknown) => error);
      hasFailed = writes >= number;
      if (!hasFailed && outcome instanceof Error && !(outcome instanceof RetryError)) throw outcome;
      peer.standIn.injectFault = () => undefined;
    });
    if (!hasFailed) return number - 1;
  }
}

for (const [when, failure] of crashes) {
  test(`LB-22 after a crash at any call of a creation, ${when}, the result is the same`, async () => {
    const want = await outcomeOf(before);
    const calls = await failingEach(failure, async (peer, fail) => {
      await fail(() => providerAt(peer).ensure(before, backendsOf(peer), signal));
      await retrying(() => providerAt(peer).ensure(before, backendsOf(peer), signal));
      assert.deepEqual((await inventory(peer)).toSorted(), want.toSorted());
    });
    assert.equal(
      calls,
      9,
      'a security group, its rules, the load balancer, and a group, its nodes and a listener a port',
    );
  });

  test(`LB-22 after a crash at any call of a change, ${when}, the result is the same, and remaining ports are always open`, async () => {
    const want = await outcomeOf(after);
    const calls = await failingEach(failure, async (peer, fail) => {
      const { account } = peer.standIn;
      await retrying(() => providerAt(peer).ensure(before, backendsOf(peer), signal));
      const [arn] = account.balancers.keys();
      account.mustServe = [80];
      await fail(() => providerAt(peer).ensure(after, backendsOf(peer), signal));
      await retrying(() => providerAt(peer).ensure(after, backendsOf(peer), signal));
      assert.deepEqual((await inventory(peer)).toSorted(), want.toSorted());
      assert.deepEqual([...account.balancers.keys()], [arn], 'of the same load balancer');
    });
    assert.equal(calls, 10, 'rules, two groups, their nodes and listeners, and what is not needed any more');
  });

  test(`LB-22 after a crash at any call of a creation or deletion, ${when}, the deletion leaves nothing behind`, async () => {
    await failingEach(failure, async (peer, fail) => {
      await fail(() => providerAt(peer).ensure(before, backendsOf(peer), signal));
      await retrying(() => providerAt(peer).remove(before, signal));
      assert.deepEqual(await inventory(peer), []);
    });
    await failingEach(failure, async (peer, fail) => {
      await retrying(() => providerAt(peer).ensure(before, backendsOf(peer), signal));
      await fail(() => retrying(() => providerAt(peer).remove(before, signal)));
      const hasAny = (await inventory(peer)).length > 0;
      assert.equal((await providerAt(peer).list(signal)).length, hasAny ? 1 : 0, 'what is left is found by its tags');
      await retrying(() => providerAt(peer).remove(before, signal));
      assert.deepEqual(await inventory(peer), []);
    });
  });
}

test('reads but does not write if everything is up to date', async () => {
  await using peer = await standInPeer();
  const service = serviceWith('53/TCP 53/UDP 80/TCP', { annotations, spec: { sessionAffinity: 'ClientIP' } });
  await retrying(() => providerAt(peer).ensure(service, backendsOf(peer), signal));
  peer.standIn.takeWrites();
  await providerAt(peer).ensure(service, backendsOf(peer), signal);
  await providerAt(peer).updateBackends(service, backendsOf(peer), signal);
  assert.deepEqual(peer.standIn.takeWrites(), []);
});

test('retries a throttled request after the requested delay or five seconds', async () => {
  const asks: readonly (readonly [Failure, number])[] = [
    [throttling, 5000],
    [{ isDone: false, error: { status: 503, code: 'Unavailable', retryAfter: '17' } }, 17_000],
  ];
  for (const [failure, afterMs] of asks) {
    await using peer = await standInPeer();
    peer.standIn.injectFault = () => failure;
    const message = /^AWS throttles requests: /;
    await assert.rejects(providerAt(peer).ensure(before, backendsOf(peer), signal), {
      code: 'RETRY',
      afterMs,
      message,
    });
  }
});

test('polls a provisioning load balancer every ten seconds, and writes the status when it is active', async () => {
  await using peer = await standInPeer();
  peer.standIn.account.slowness = { provisioning: 2, hidden: 0, inUse: 0 };
  const ensure = () => providerAt(peer).ensure(before, backendsOf(peer), signal);
  const error = await ensure().catch((cause: unknown) => cause);
  assert.ok(error instanceof RetryError);
  assert.match(error.message, /^AWS is provisioning load balancer fl-/);
  assert.equal(error.afterMs, 10_000);
  assert.match(error.events.map(({ message }) => message).join(), /^\+16\.43 USD a month: listeners 0 → 2 /);
  await assert.rejects(ensure(), { code: 'RETRY', events: [] }, 'the bill is reported once');
  assert.match((await ensure()).status.ingress?.[0]?.hostname ?? '', /\.elb\./);
});

test('does not create a load balancer twice that lists do not contain yet', async () => {
  await using peer = await standInPeer();
  peer.standIn.account.slowness = { provisioning: 0, hidden: 3, inUse: 0 };
  for (let round = 0; round < 5; round++) await providerAt(peer).ensure(before, backendsOf(peer), signal);
  assert.equal(peer.standIn.account.balancers.size, 1);
});

test('reports a stopped instance and sends traffic to the others', async () => {
  await using peer = await standInPeer();
  peer.standIn.account.stopped.add('i-0b');
  const service = serviceWith('80/TCP');
  const { events } = await retrying(() => providerAt(peer).ensure(service, backendsOf(peer), signal));
  const messages = events.filter(({ reason }) => reason === 'TargetNotRegistered').map(({ message }) => message);
  assert.equal(messages.length, 1);
  assert.match(messages[0] ?? '', /^AWS does not send traffic to i-0b: .*not in a running state/);
  assert.match((await inventory(peer))[1] ?? '', / at i-0a i-0c,/);
});

test('does not modify foreign resources with our names', async () => {
  await using peer = await standInPeer();
  await retrying(() => providerAt(peer).ensure(before, backendsOf(peer), signal));
  for (const { tags } of peer.standIn.account.balancers.values()) tags.clear();
  peer.standIn.takeWrites();
  await assert.rejects(providerAt(peer).remove(before, signal), /but not its tags: delete it$/);
  assert.deepEqual(peer.standIn.takeWrites(), []);
});

test('keeps a load balancer with deletion protection complete', async () => {
  await using peer = await standInPeer();
  const prefix = 'service.beta.kubernetes.io/aws-load-balancer';
  const service = serviceWith('80/TCP', {
    annotations: { [`${prefix}-attributes`]: 'deletion_protection.enabled=true' },
  });
  await retrying(() => providerAt(peer).ensure(service, backendsOf(peer), signal));
  peer.standIn.takeWrites();
  await assert.rejects(
    providerAt(peer).remove(service, signal),
    /set its attribute deletion_protection.enabled to false/,
  );
  assert.deepEqual(peer.standIn.takeWrites(), []);
});

test('an error of AWS names the call', async () => {
  await using peer = await standInPeer();
  peer.standIn.injectFault = (action) =>
    action === 'CreateListener' ? { isDone: false, error: { status: 403, code: 'AccessDenied' } } : undefined;
  await assert.rejects(
    providerAt(peer).ensure(before, backendsOf(peer), signal),
    /^Error: CreateListener fl-[0-9a-f]{10}-30080-tcp-tcp: AccessDenied: as the test requested$/,
  );
});
