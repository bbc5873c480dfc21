import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Viewer } from '../server/viewer.ts';
import { owner } from '../server/viewer.ts';
import { Sessions } from './sessions.ts';

test('finds a session by its id only, and not after it was removed', () => {
  const sessions = new Sessions({ now: () => 0 });
  const id = sessions.add(owner);
  assert.match(id, /^[\w-]{43}$/);
  assert.equal(sessions.use(id)?.viewer, owner);
  assert.equal(sessions.use(`${id}x`), undefined);
  sessions.remove(id);
  assert.equal(sessions.use(id), undefined);
});

test('one session too many ends the one that was unused for longest', () => {
  const sessions = new Sessions({ now: () => 0, max: 2 });
  const [first, second] = [sessions.add(owner), sessions.add(owner)];
  sessions.use(first);
  const third = sessions.add(owner);
  assert.deepEqual(
    [first, second, third].map((id) => sessions.use(id) !== undefined),
    [true, false, true],
  );
});

test('an unused session ends, unless a page is open', () => {
  let now = 0;
  const ended: string[] = [];
  const sessions = new Sessions({ now: () => now, idleMs: 1000 });
  const viewer: Viewer = { ...owner, [Symbol.dispose]: () => void ended.push('viewer') };
  const [idle, open] = [sessions.add(viewer), sessions.add(owner)];
  sessions.use(open)?.streams.add((reason) => void ended.push(reason));
  now = 1001;
  sessions.expire();
  assert.deepEqual([sessions.use(idle), sessions.use(open)?.viewer, ended], [undefined, owner, ['viewer']]);
  sessions.clear();
  assert.deepEqual([ended, sessions.size], [['viewer', 'signed out'], 0]);
});
