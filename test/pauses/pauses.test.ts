// Everything that decides by the time since the last response of a peer, and the effect of a pause of its own process.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { pino } from 'pino';
import { Registry } from 'prom-client';

import type { Lease } from '../../src/api/kinds/coordination/lease/kind.ts';
import { leaseKind } from '../../src/api/kinds/coordination/lease/kind.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { Client } from '../../src/client/client.ts';
import { afterPendingReads, startWatchdog, systemClock } from '../../src/client/clock.ts';
import { Informer } from '../../src/client/informer.ts';
import { inProcess } from '../../src/client/in-process.ts';
import { LeaderElection } from '../../src/client/leader-election.ts';
import { ManualClock, settled } from '../../src/client/testing/clocks.ts';
import { Expectations } from '../../src/client/expectations.ts';
import { renewed } from '../../src/multicluster/lease/lease.ts';
import { withDeadline } from '../../src/multicluster/member/deadline.ts';
import { probeTimesOf } from '../../src/multicluster/member/options.ts';
import { HealthProbe } from '../../src/multicluster/member/health-probe.ts';
import { MutationCache } from '../../src/multicluster/member/mutation-cache.ts';
import { managedBy } from '../../src/multicluster/project/labels.ts';
import { startReaper } from '../../src/multicluster/reaper/reaper.ts';
import { testServer } from '../../src/server/testing/server.ts';
import { until } from '../../src/server/testing/until.ts';

/** A component that waits for a peer: its timeout, and whether it has given up. */
interface Observer extends AsyncDisposable {
  readonly waitsMs: number;
  hasGivenUp(): Promise<boolean>;
}

const running = (waitsMs: number, hasGivenUp: () => boolean | Promise<boolean>, stop: () => unknown): Observer => ({
  waitsMs,
  hasGivenUp: async () => hasGivenUp(),
  async [Symbol.asyncDispose]() {
    await stop();
  },
});

/** A server in this process, and a client of its administrator. */
async function served(): Promise<{ readonly client: Client } & AsyncDisposable> {
  const server = await testServer();
  const user = { name: 'kubernetes-admin', uid: '', groups: ['system:masters', 'system:authenticated'] };
  const client = new Client(inProcess((request) => server.handle({ ...request, user })));
  return { client, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Answers its first `count` requests, and hangs afterwards. */
function answersFirst(count: number, body: unknown): Client {
  let requests = 0;
  return new Client({
    request: ({ signal }) =>
      requests++ < count
        ? Promise.resolve({ status: 200, headers: {}, body: JSON.stringify(body) })
        : new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
    stream: () => assert.fail('no stream was expected'),
    [Symbol.dispose]() {},
  });
}

const written = { metadata: { name: 'a', uid: 'u', resourceVersion: '5' } };

const observers: Readonly<Record<string, (clock: ManualClock) => Promise<Observer>>> = {
  async 'a wait for something to come'(clock) {
    let isOver = false;
    return running(
      10_000,
      () => isOver,
      afterPendingReads(clock, 10_000, () => (isOver = true)),
    );
  },
  async 'a watch that is silent'(clock) {
    let isOver = false;
    const act = (): 'done' => {
      isOver = true;
      return 'done';
    };
    return running(180_000, () => isOver, startWatchdog({ clock, timeoutMs: 180_000, lastActivityAt: () => 0 }, act));
  },
  async 'how long an informer has received nothing, after which DNS considers its answers stale'(clock) {
    const server = await served();
    const informer = new Informer(server.client, namespaceKind, { clock });
    const stop = new AbortController();
    const run = informer.run(stop.signal);
    await informer.synced();
    return running(
      300_000,
      () => (informer.silentMs ?? 0) > 300_000,
      async () => {
        stop.abort();
        await run;
        await server[Symbol.asyncDispose]();
      },
    );
  },
  async 'a request without an answer'(clock) {
    let isOver = false;
    const stop = new AbortController();
    const call = withDeadline(
      { signal: stop.signal, ms: 15_000, clock },
      (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('over')))),
    ).catch(() => (isOver = true));
    return running(
      15_000,
      () => isOver,
      async () => {
        stop.abort();
        await call;
      },
    );
  },
  async 'a candidate that waits for the leader'(clock) {
    let leads = false;
    const spec = { holderIdentity: 'other', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' };
    const lease = { metadata: { namespace: 'kube-system', name: 'x', resourceVersion: '1' }, spec };
    const election = new LeaderElection({
      client: answersFirst(Infinity, lease),
      lease: { namespace: 'kube-system', name: 'x' },
      identity: 'me',
      clock,
      random: () => 0,
    });
    const stop = new AbortController();
    const run = election.run(async (term) => {
      leads = true;
      await new Promise((resolve) => term.addEventListener('abort', resolve));
    }, stop.signal);
    return running(
      15_000,
      () => leads,
      async () => {
        stop.abort();
        await run;
      },
    );
  },
  async 'a controller that asks a member whether it is there'(clock) {
    const probe = new HealthProbe({
      client: answersFirst(1, { metadata: { name: 'kube-system', uid: 'u' } }),
      clock,
      ...probeTimesOf(40_000),
      onChange: () => {},
    });
    const stop = new AbortController();
    const run = probe.run(stop.signal);
    return running(
      40_000,
      () => probe.state === 'lost',
      async () => {
        stop.abort();
        await run;
      },
    );
  },
  async 'a reaper that looks at the lease of a source'(clock) {
    const server = await served();
    const { client } = server;
    const lease: Lease = renewed(undefined, { source: 'east', uid: 'u', holder: 'c', durationMs: 40_000, nowMs: 0 });
    await client.create(leaseKind, lease);
    const labels = {
      'endpointslice.kubernetes.io/managed-by': managedBy,
      'multicluster.kubernetes.io/source-cluster': 'east',
    };
    await client.create(endpointSliceKind, {
      metadata: { namespace: 'default', name: 'imported', labels },
      addressType: 'IPv4',
      endpoints: [],
      ports: [],
    });
    const log = pino({ level: 'silent' });
    const reaper = startReaper({ client, log, metrics: new Registry() }, { clock });
    await reaper.ready;
    const slice = { namespace: 'default', name: 'imported' };
    return running(
      40_000,
      async () => {
        for (let turn = 0; turn < 50; turn++) await settled();
        return (await client.find(endpointSliceKind, slice)) === undefined;
      },
      async () => {
        await reaper[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      },
    );
  },
  async 'a controller that waits for its cache to show what it wrote'(clock) {
    const writes = new Expectations(clock);
    writes.begin('k');
    writes.wrote('k', written, { metadata: { ...written.metadata, resourceVersion: '4' } });
    writes.end('k');
    return running(
      30_000,
      () => !writes.isPending('k'),
      () => {},
    );
  },
  async 'a multi-cluster controller that waits for the same'(clock) {
    const unseen = new MutationCache(clock);
    await unseen.write(written, async () => written);
    return running(
      30_000,
      () => unseen.merged('a', []).length === 0,
      () => {},
    );
  },
};

describe('a paused process does not blame its peers', () => {
  for (const [what, start] of Object.entries(observers)) {
    test(what, async () => {
      const clock = new ManualClock(1000);
      await using observer = await start(clock);
      await clock.advance(observer.waitsMs / 2);
      for (const pausedMs of [observer.waitsMs, 10 * observer.waitsMs, 86_400_000]) {
        clock.stall(pausedMs);
        await clock.advance(observer.waitsMs / 2);
        assert.equal(await observer.hasGivenUp(), false, `after ${pausedMs} ms`);
      }
      // It still detects silence: without a pause the same time counts.
      const step = observer.waitsMs / 10;
      await until('the silence is detected', async () => {
        await clock.advance(step);
        return observer.hasGivenUp();
      });
    });
  }
});

test('a jump of the wall clock by hours changes nothing: durations use the monotonic clock', () => {
  const now = Date.now;
  try {
    for (const hours of [-9, 9]) {
      const before = systemClock.elapsed();
      Date.now = () => now() + hours * 3_600_000;
      assert.ok(systemClock.elapsed() - before < 60_000);
      assert.ok(systemClock.resumedAt() <= before + 60_000);
    }
  } finally {
    Date.now = now;
  }
});
