import assert from 'node:assert/strict';
import { test } from 'node:test';

import { failure } from '../../api/errors.ts';
import { Client } from '../../client/client.ts';
import { ManualClock } from '../../client/testing/clocks.ts';
import type { ApiResponse, ApiRequest, Transport } from '../../client/transport.ts';
import type { ProbeTimes } from './options.ts';
import { probeTimesOf } from './options.ts';
import { HealthProbe } from './health-probe.ts';

const answer: ApiResponse = {
  status: 200,
  headers: {},
  body: JSON.stringify({ metadata: { name: 'kube-system', uid: 'u' } }),
};

const hangs = ({ signal }: ApiRequest): Promise<ApiResponse> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));

/** Probes a server that answers with `server.request`, and records the states. */
function probing(server: Pick<Transport, 'request'>, times: ProbeTimes = { renewMs: 5000, durationMs: 15_000 }) {
  const clock = new ManualClock();
  const states: string[] = [];
  const transport: Transport = {
    request: (call) => server.request(call),
    async *stream() {},
    [Symbol.dispose]() {},
  };
  const probe = new HealthProbe({
    client: new Client(transport),
    clock,
    ...times,
    onChange: () => void states.push(`${probe.state} at ${clock.elapsed()}`),
  });
  const stop = new AbortController();
  const running = probe.run(stop.signal);
  return {
    clock,
    probe,
    states,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

test('MCS-81 is alive, silent or lost by answers alone', async () => {
  const server = { request: async () => answer };
  await using probed = probing(server);
  const { clock, states, probe } = probed;
  await clock.advance(7000);
  server.request = () => Promise.reject(failure({ code: 503, reason: 'x', message: 'away' }));
  await clock.advance(20_000);
  server.request = async () => answer;
  await clock.advance(2000);
  assert.deepEqual(states, ['alive at 0', 'silent at 10000', 'lost at 18000', 'alive at 28000']);
  assert.equal(probe.uid, 'u');
});

test('keeps the reason of the last complete probe when the server is lost', async () => {
  const server: Pick<Transport, 'request'> = { request: async () => answer };
  await using probed = probing(server);
  const { clock, states, probe } = probed;
  await clock.advance(1000);
  server.request = () => Promise.reject(new Error('connection refused'));
  await clock.advance(10_000);
  server.request = hangs;
  await clock.advance(4000);
  assert.match(states.join(), /lost at 12\d\d\d/);
  assert.equal(String(probe.error), 'Error: connection refused');
});

test('reports a server that never answered as lost after the duration of a lease', async () => {
  await using probed = probing({ request: hangs });
  await probed.clock.advance(15_000);
  assert.deepEqual(probed.states, ['lost at 15000']);
});

test('reports a server that begins to hang as lost before its leases expire', async () => {
  const server: Pick<Transport, 'request'> = { request: async () => answer };
  await using probed = probing(server);
  const { clock, states } = probed;
  await clock.advance(1000);
  server.request = hangs;
  await clock.advance(14_000);
  assert.deepEqual(states, ['alive at 0', 'silent at 10000', 'lost at 12500']);
});

test('reads answers that arrived while the process was blocked before it reports silence', async () => {
  const late = Promise.withResolvers<ApiResponse>();
  const server: Pick<Transport, 'request'> = { request: async () => answer };
  await using probed = probing(server);
  const { clock, states } = probed;
  await clock.advance(1000);
  server.request = ({ signal }) => Promise.race([late.promise, hangs({ method: 'GET', path: '', signal })]);
  await clock.advance(4000);
  clock.stall(6000);
  await clock.advance(0);
  late.resolve(answer);
  await clock.advance(1000);
  assert.deepEqual(states, ['alive at 0']);
});

/** Answers after three seconds. */
const slow = (clock: ManualClock, { signal }: ApiRequest): Promise<ApiResponse> =>
  new Promise((resolve, reject) => {
    clock.after(3000, () => resolve(answer));
    signal?.addEventListener('abort', () => reject(signal.reason as Error));
  });

for (const [what, answersFirst] of [
  ['was always slow', false],
  ['becomes slow', true],
] as const) {
  test(`reports a server that ${what} and takes half a lease for each answer as slow, not as lost`, async () => {
    const answersSlowly = async (call: ApiRequest): Promise<ApiResponse> => {
      await Promise.resolve(); // until there is a clock
      return slow(clock, call);
    };
    const server: Pick<Transport, 'request'> = { request: answersFirst ? async () => answer : answersSlowly };
    await using probed = probing(server, probeTimesOf(6000));
    const { clock, states, probe } = probed;
    await clock.advance(1000);
    server.request = answersSlowly;
    for (let step = 0; step < 60; step++) {
      await clock.advance(1000);
      assert.notEqual(probe.state, 'lost');
    }
    assert.equal(probe.state, 'alive');
    assert.equal(probe.isSlow, true);
    assert.deepEqual(
      states.map((state) => state.split(' ')[0]),
      answersFirst ? ['alive', 'silent', 'alive'] : ['alive'],
      'the state does not flap',
    );
    server.request = async () => answer;
    await clock.advance(5000);
    assert.equal(probe.isSlow, false);
  });
}

test('reports answers that take more than two seconds as slow, however rare probes are', async () => {
  const server: Pick<Transport, 'request'> = { request: (call) => slow(clock, call) };
  await using probed = probing(server, probeTimesOf(40_000));
  const { clock, probe } = probed;
  await clock.advance(5000);
  assert.deepEqual([probe.state, probe.latencyMs, probe.isSlow], ['alive', 3000, true]);
});

test('reports a lost server that answers slowly as alive', async () => {
  const server: Pick<Transport, 'request'> = { request: async () => answer };
  await using probed = probing(server, probeTimesOf(6000));
  const { clock, probe } = probed;
  await clock.advance(1000);
  server.request = () => Promise.reject(failure({ code: 503, reason: 'x', message: 'away' }));
  await clock.advance(10_000);
  assert.equal(probe.state, 'lost');
  server.request = (call) => slow(clock, call);
  await clock.advance(6000);
  assert.equal(probe.state, 'alive');
});

test('does not accumulate probes of a server that hangs', async () => {
  let open = 0;
  let most = 0;
  const server: Pick<Transport, 'request'> = {
    async request(call) {
      most = Math.max(most, ++open);
      return hangs(call).finally(() => open--);
    },
  };
  await using probed = probing(server, probeTimesOf(40_000));
  await probed.clock.advance(600_000);
  assert.equal(probed.probe.state, 'lost');
  assert.ok(most <= 4, `${most} at once`);
});

for (const pausedMs of [10_000, 40_000, 3_600_000]) {
  test(`a pause of this process of ${pausedMs / 1000} s is no silence of a server: it has its full time again`, async () => {
    const server: Pick<Transport, 'request'> = { request: async () => answer };
    await using probed = probing(server, probeTimesOf(40_000));
    const { clock, states, probe } = probed;
    await clock.advance(7000);
    server.request = hangs; // it was paused too, and takes a while
    await clock.advance(2000);
    clock.stall(pausedMs);
    await clock.advance(30_000);
    assert.notEqual(probe.state, 'lost');
    server.request = async () => answer;
    await clock.advance(7000);
    assert.equal(probe.state, 'alive');
    server.request = hangs;
    await clock.advance(60_000);
    assert.equal(probe.state, 'lost', 'it is lost when it is silent after that');
    assert.equal(states.filter((state) => state.startsWith('lost')).length, 1);
  });
}

for (const { name, aheadMs, wantSeconds, isSkewed } of [
  { name: 'ahead', aheadMs: 37_000, wantSeconds: 37, isSkewed: true },
  { name: 'behind', aheadMs: -37_000, wantSeconds: -37, isSkewed: true },
  { name: 'in sync', aheadMs: 0, wantSeconds: 0, isSkewed: false },
]) {
  test(`measures a server clock that is ${name}`, async () => {
    const clocks: ManualClock[] = [];
    const date = (): string => new Date((clocks[0]?.now() ?? 0) + aheadMs).toUTCString();
    await using started = probing({ request: async () => ({ ...answer, headers: { date: date() } }) });
    clocks.push(started.clock);
    await started.clock.advance(6000);
    assert.ok(Math.abs((started.probe.clockSkewMs ?? NaN) / 1000 - wantSeconds) <= 1, `${started.probe.clockSkewMs}`);
    assert.equal(started.probe.isSkewed, isSkewed);
    assert.ok(started.states.length >= 1);
  });
}

test('the clock skew is unknown without a Date header', async () => {
  await using started = probing({ request: async () => answer });
  await started.clock.advance(6000);
  assert.equal(started.probe.clockSkewMs, undefined);
  assert.equal(started.probe.isSkewed, false);
});
