import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ManualClock } from '../../client/testing/clocks.ts';
import type { Route } from '../routes/route.ts';
import { Doors } from './doors.ts';
import { forward, network, route, target } from './testing/echo.ts';
import type { DoorPlace, OpenDoor } from './engine.ts';
import type { Heard } from './heard.ts';
import { heardAt } from './heard.ts';

const somewhere = forward(target({ address: '10.1.0.1', port: 80 }));
const web = route('10.96.0.1', somewhere);

/** Doors whose addresses are taken by others as told, and a list of what was done. */
function stand(most = Infinity): { clock: ManualClock; doors: Doors; taken: Set<string>; done: string[] } {
  const clock = new ManualClock(0);
  const taken = new Set<string>();
  const done: string[] = [];
  const text = (heard: Heard): string =>
    heard.map((ranges) => ranges.join(',') || 'nobody').join(' and ') || 'everybody';
  const open = ({ address }: Route, { heard }: DoorPlace): Promise<OpenDoor> => {
    const how = `${address} hears ${text(heard)}`;
    if (taken.has(address)) {
      done.push(`${how} fails at ${clock.elapsed()}`);
      return Promise.reject(new Error('taken'));
    }
    done.push(how);
    return Promise.resolve({
      hear: (others) => void done.push(`${address} now hears ${text(others)}`),
      close: () => Promise.resolve(void done.push(`${address} closed`)),
    });
  };
  const explain = ({ address }: Route): string => `${address} is taken`;
  const heard = (of: Route): Heard => heardAt(of, network);
  const explainLimit = (owner: string): string => `${owner} has no more`;
  const doors = new Doors({ open, explain, most, explainLimit, heard, clock, random: () => 1 });
  return { clock, doors, taken, done };
}

test('one that is taken is tried again, ever more seldom, and opened when it is free', async () => {
  const { clock, doors, taken, done } = stand();
  taken.add(web.address);
  await doors.replace([web]);
  assert.deepEqual(doors.problems(), [{ owner: web.owner, text: '10.96.0.1 is taken' }]);
  await clock.advance(120_000);
  const tries = done.map((each) => Number(each.split(' ').at(-1)) / 1000);
  assert.deepEqual(tries, [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5]);
  taken.clear();
  await clock.advance(30_000);
  assert.equal(done.at(-1), '10.96.0.1 hears everybody');
  assert.deepEqual(doors.problems(), []);
  await doors[Symbol.asyncDispose]();
});

test('an address is held as its route asks: for all, for some, silent, or left to the kernel', async () => {
  const { doors, done } = stand();
  const become = (change: Partial<Route>): Promise<void> =>
    doors.apply({ removed: [web], added: [{ ...web, ...change }] });
  await become({});
  await become({ action: forward(target({ address: '10.1.0.2', port: 80 })) });
  assert.deepEqual(done.splice(0), ['10.96.0.1 hears everybody'], 'other endpoints need no other door');
  // External traffic under policy Local, without an endpoint on this node: nobody there, and nobody answers.
  await become({ action: { type: 'drop' } });
  assert.deepEqual(done.splice(0), ['10.96.0.1 now hears nobody']);
  await become({ action: { type: 'drop' }, near: { action: somewhere, masquerade: 'always' } });
  assert.deepEqual(
    done.splice(0),
    ['10.96.0.1 now hears 127.0.0.0/8,::1/128,10.96.0.1/32,127.0.0.1/32'],
    'clients on this node',
  );
  await become({ sources: ['192.0.2.0/24'] });
  assert.deepEqual(done.splice(0), ['10.96.0.1 now hears 192.0.2.0/24']);
  await become({ action: { type: 'reject' } });
  assert.deepEqual(done.splice(0), ['10.96.0.1 closed']);
  await doors.apply({ removed: [web], added: [] });
  assert.deepEqual(done, []);
  await doors[Symbol.asyncDispose]();
});

test('what is no longer wanted is closed first: another may need its port', async () => {
  const { doors, done } = stand();
  const other = route('10.96.0.2', somewhere);
  await doors.replace([web]);
  await doors.replace([other]);
  assert.deepEqual(done, ['10.96.0.1 hears everybody', '10.96.0.1 closed', '10.96.0.2 hears everybody']);
  await doors[Symbol.asyncDispose]();
});

test('where not all may be held, every namespace has its share, and a new one gets its share of those that are held', async () => {
  const { doors, done } = stand(4);
  const big = Array.from({ length: 6 }, (_, index) => ({
    ...route('10.96.0.1', somewhere),
    port: 1000 + index,
    owner: 'Service a/big',
  }));
  const small = { ...route('10.96.0.2', somewhere), owner: 'Service b/small' };
  await doors.replace(big);
  assert.equal(done.splice(0).length, 4);
  assert.deepEqual(doors.problems(), [{ owner: 'Service a/big', text: 'Service a/big has no more' }]);
  assert.equal(doors.unopened, 2);
  await doors.apply({ removed: [], added: [small] });
  assert.deepEqual(
    done.splice(0),
    ['10.96.0.1 closed', '10.96.0.2 hears everybody'],
    'one gives way, before it is needed',
  );
  assert.equal(doors.unopened, 3);
  await doors.apply({ removed: [small], added: [] });
  assert.deepEqual(done.splice(0), ['10.96.0.2 closed', '10.96.0.1 hears everybody']);
  await doors.apply({ removed: big.slice(0, 2), added: [] });
  assert.deepEqual(doors.problems(), []);
  assert.equal(doors.unopened, 0);
  await doors[Symbol.asyncDispose]();
});
