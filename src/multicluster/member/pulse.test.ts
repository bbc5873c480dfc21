import assert from 'node:assert/strict';
import { test } from 'node:test';

import { failure } from '../../api/errors.ts';
import { Client } from '../../client/client.ts';
import { ManualClock } from '../../client/testing/clocks.ts';
import type { ApiAnswer, ApiCall, Transport } from '../../client/transport.ts';
import { Pulse } from './pulse.ts';

const answer: ApiAnswer = {
  status: 200,
  headers: {},
  body: JSON.stringify({ metadata: { name: 'kube-system', uid: 'u' } }),
};

const hangs = ({ signal }: ApiCall): Promise<ApiAnswer> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));

/** A pulse that is taken every 5 s of a server that does as `server.request` says, and the states it went through. */
function taken(server: Pick<Transport, 'request'>) {
  const clock = new ManualClock();
  const states: string[] = [];
  const transport: Transport = {
    request: (call) => server.request(call),
    async *stream() {},
    [Symbol.dispose]() {},
  };
  const pulse = new Pulse({
    client: new Client(transport),
    clock,
    renewMs: 5000,
    durationMs: 15_000,
    onChange: () => void states.push(`${pulse.state} at ${clock.elapsed()}`),
  });
  const stop = new AbortController();
  const running = pulse.run(stop.signal);
  return {
    clock,
    pulse,
    states,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

test('MCS-81 tells alive, silent and lost, by answers alone', async () => {
  const server = { request: async () => answer };
  await using probe = taken(server);
  const { clock, states, pulse } = probe;
  await clock.advance(7000);
  server.request = () => Promise.reject(failure({ code: 503, reason: 'x', message: 'away' }));
  await clock.advance(20_000);
  server.request = async () => answer;
  await clock.advance(2000);
  assert.deepEqual(states, ['alive at 0', 'silent at 10000', 'lost at 18000', 'alive at 28000']);
  assert.equal(pulse.uid, 'u');
});

test('a server that hangs and never answered is lost after the time of a lease', async () => {
  await using probe = taken({ request: hangs });
  await probe.clock.advance(15_000);
  assert.deepEqual(probe.states, ['lost at 15000']);
});

test('a server that begins to hang is lost before its leases run out', async () => {
  const server: Pick<Transport, 'request'> = { request: async () => answer };
  await using probe = taken(server);
  const { clock, states } = probe;
  await clock.advance(1000);
  server.request = hangs;
  await clock.advance(14_000);
  assert.deepEqual(states, ['alive at 0', 'silent at 10000', 'lost at 12500']);
});

test('a controller that was held up reads what has come before it takes that for silence', async () => {
  const late = Promise.withResolvers<ApiAnswer>();
  const server: Pick<Transport, 'request'> = { request: async () => answer };
  await using probe = taken(server);
  const { clock, states } = probe;
  await clock.advance(1000);
  server.request = ({ signal }) => Promise.race([late.promise, hangs({ method: 'GET', path: '', signal })]);
  await clock.advance(4000);
  clock.stall(6000);
  await clock.advance(0);
  late.resolve(answer);
  await clock.advance(1000);
  assert.deepEqual(states, ['alive at 0']);
});
