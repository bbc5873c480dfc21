import assert from 'node:assert/strict';
import { test } from 'node:test';

import { until } from '../../../server/testing/until.ts';
import { routeKey } from '../../routes/route.ts';
import { ask, forward, named, network, port, route, target, vips } from '../testing/echo.ts';
import { defaultLimits } from '../options.ts';
import { NativeEngine } from './engine.ts';
import { loadLibc } from './libc.ts';
import { RelayThread } from './thread.ts';

const libc = await loadLibc();
const skip = libc === undefined ? 'native calls are not available here' : false;

test('ends a thread with the error of a failed request', { skip }, async () => {
  const ended = Promise.withResolvers<Error>();
  const thread = new RelayThread(defaultLimits, ended.resolve);
  const listener = { key: 'nothing', address: '127.0.0.1' };
  await assert.rejects(thread.send({ kind: 'open', listener, fd: 1_000_000 }), /EBADF/);
  assert.match((await ended.promise).message, /EBADF/);
  await assert.rejects(thread.send({ kind: 'close', fd: 1 }), /EBADF/);
});

test('replaces a failed thread by one with all routes and listeners', { skip }, async () => {
  assert.ok(libc);
  await using pod = await named('127.0.0.1', 'a');
  const address = vips()();
  const failures: Error[] = [];
  await using engine = new NativeEngine({
    libc,
    limits: defaultLimits,
    threads: 1,
    drainMs: 0,
    onExit: (error) => failures.push(error),
  });
  const only = route(address, forward(target(pod)));
  await engine.change({ isAll: true, removed: [], added: [only], network });
  await engine.open({ key: routeKey(only), address, port, allowedSources: [], isSticky: false });
  assert.equal(await ask(address), 'a\nhi');
  // An invalid target, which no table has, makes the thread fail.
  const broken = route(address, forward(target({ address: 'nowhere', port })));
  await engine.change({ isAll: false, removed: [], added: [broken], network });
  await until('it has ended', async () => {
    await ask(address, { timeoutMs: 100 });
    return failures.length > 0;
  });
  await until('it takes changes again', () =>
    engine.change({ isAll: false, removed: [], added: [only], network }).then(
      () => true,
      () => false,
    ),
  );
  await until('it serves again', async () => (await ask(address, { timeoutMs: 500 })) === 'a\nhi');
});
