import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ManualClock } from '../../client/testing/clocks.ts';
import type { Route } from '../routes/route.ts';
import { Listeners } from './listeners.ts';
import { forward, network, route, target } from './testing/echo.ts';
import type { ListenRequest, Listener } from './engine.ts';
import type { AllowedSources } from './allowed-sources.ts';
import { allowedSourcesOf } from './allowed-sources.ts';

const somewhere = forward(target({ address: '10.1.0.1', port: 80 }));
const web = route('10.96.0.1', somewhere);

/** Listeners that fail for addresses in `taken`, and a log of calls. */
function setup(maxListeners = Infinity): {
  clock: ManualClock;
  listeners: Listeners;
  taken: Set<string>;
  done: string[];
} {
  const clock = new ManualClock(0);
  const taken = new Set<string>();
  const done: string[] = [];
  const text = (sources: AllowedSources): string =>
    sources.map((ranges) => ranges.join(',') || 'none').join(' and ') || 'all';
  const open = ({ address }: Route, { allowedSources }: ListenRequest): Promise<Listener> => {
    const how = `${address} allows ${text(allowedSources)}`;
    if (taken.has(address)) {
      done.push(`${how} fails at ${clock.elapsed()}`);
      return Promise.reject(new Error('taken'));
    }
    done.push(how);
    return Promise.resolve({
      setAllowedSources: (sources) => void done.push(`${address} now allows ${text(sources)}`),
      close: () => Promise.resolve(void done.push(`${address} closed`)),
    });
  };
  const explain = ({ address }: Route): string => `${address} is taken`;
  const allowedSources = (of: Route): AllowedSources => allowedSourcesOf(of, network);
  const explainLimit = (owner: string): string => `${owner} has no more`;
  const listeners = new Listeners({
    open,
    explain,
    maxListeners,
    explainLimit,
    allowedSources,
    clock,
    random: () => 1,
  });
  return { clock, listeners, taken, done };
}

test('retries a port in use with backoff, and opens it when it is free', async () => {
  const { clock, listeners, taken, done } = setup();
  taken.add(web.address);
  await listeners.replace([web]);
  assert.deepEqual(listeners.problems(), [{ owner: web.owner, text: '10.96.0.1 is taken' }]);
  await clock.advance(120_000);
  const tries = done.map((each) => Number(each.split(' ').at(-1)) / 1000);
  assert.deepEqual(tries, [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5]);
  taken.clear();
  await clock.advance(30_000);
  assert.equal(done.at(-1), '10.96.0.1 allows all');
  assert.deepEqual(listeners.problems(), []);
  await listeners[Symbol.asyncDispose]();
});

test('follows the action of a route: listens for all, some or no sources, or not at all', async () => {
  const { listeners, done } = setup();
  const become = (change: Partial<Route>): Promise<void> =>
    listeners.apply({ removed: [web], added: [{ ...web, ...change }] });
  await become({});
  await become({ action: forward(target({ address: '10.1.0.2', port: 80 })) });
  assert.deepEqual(done.splice(0), ['10.96.0.1 allows all'], 'other endpoints need no other listener');
  // External traffic under policy Local without a local endpoint.
  await become({ action: { type: 'drop' } });
  assert.deepEqual(done.splice(0), ['10.96.0.1 now allows none']);
  await become({ action: { type: 'drop' }, near: { action: somewhere, masquerade: 'always' } });
  assert.deepEqual(
    done.splice(0),
    ['10.96.0.1 now allows 127.0.0.0/8,::1/128,10.96.0.1/32,127.0.0.1/32'],
    'clients on this node',
  );
  await become({ sources: ['192.0.2.0/24'] });
  assert.deepEqual(done.splice(0), ['10.96.0.1 now allows 192.0.2.0/24']);
  await become({ action: { type: 'reject' } });
  assert.deepEqual(done.splice(0), ['10.96.0.1 closed']);
  await listeners.apply({ removed: [web], added: [] });
  assert.deepEqual(done, []);
  await listeners[Symbol.asyncDispose]();
});

test('closes removed listeners before it opens new ones', async () => {
  const { listeners, done } = setup();
  const other = route('10.96.0.2', somewhere);
  await listeners.replace([web]);
  await listeners.replace([other]);
  assert.deepEqual(done, ['10.96.0.1 allows all', '10.96.0.1 closed', '10.96.0.2 allows all']);
  await listeners[Symbol.asyncDispose]();
});

test('divides listeners evenly among namespaces, and reassigns them to a new namespace', async () => {
  const { listeners, done } = setup(4);
  const big = Array.from({ length: 6 }, (_, index) => ({
    ...route('10.96.0.1', somewhere),
    port: 1000 + index,
    owner: 'Service a/big',
  }));
  const small = { ...route('10.96.0.2', somewhere), owner: 'Service b/small' };
  await listeners.replace(big);
  assert.equal(done.splice(0).length, 4);
  assert.deepEqual(listeners.problems(), [{ owner: 'Service a/big', text: 'Service a/big has no more' }]);
  assert.equal(listeners.unopened, 2);
  await listeners.apply({ removed: [], added: [small] });
  assert.deepEqual(
    done.splice(0),
    ['10.96.0.1 closed', '10.96.0.2 allows all'],
    'closes one before it opens the new one',
  );
  assert.equal(listeners.unopened, 3);
  await listeners.apply({ removed: [small], added: [] });
  assert.deepEqual(done.splice(0), ['10.96.0.2 closed', '10.96.0.1 allows all']);
  await listeners.apply({ removed: big.slice(0, 2), added: [] });
  assert.deepEqual(listeners.problems(), []);
  assert.equal(listeners.unopened, 0);
  await listeners[Symbol.asyncDispose]();
});
