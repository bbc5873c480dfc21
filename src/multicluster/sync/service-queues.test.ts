import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { MemberInMemory, webKey } from '../testing/member.ts';
import { record } from '../testing/records.ts';
import { MemberQueues } from './member-queues.ts';
import { ServiceQueues } from './service-queues.ts';
import { Reconcilers } from './testing/reconcilers.ts';

/** East exports the service; east, west and north are members. `take` returns what is reconciled next, each once. */
function setUp({ isOpen = true } = {}) {
  const [east, west, north] = ['east', 'west', 'north'].map((id) => new MemberInMemory(id));
  assert.ok(east && west && north);
  east.exports.set(webKey, record('east'));
  const members = [east, west, north];
  const { services, membership, clock } = new Reconcilers(members);
  const runs: string[] = [];
  const queuesOf = (controller: 'imports' | 'exports'): MemberQueues =>
    new MemberQueues({
      controller,
      clock,
      log: pino({ level: 'silent' }),
      windowMs: 0,
      reconcile: async ({ id }, key) => void runs.push(`${controller} ${id} ${key}`),
    });
  const queues = new ServiceQueues({
    services,
    membership,
    imports: queuesOf('imports'),
    exports: queuesOf('exports'),
  });
  if (isOpen) for (const { member } of members) queues.open(member, new AbortController().signal);
  const take = async (): Promise<readonly string[]> => {
    await clock.advance(0);
    return [...new Set(runs.splice(0))].toSorted();
  };
  return { east, west, north, services, membership, queues, take };
}

describe('a service is enqueued', () => {
  test('as an import in the members with its namespace (MCS-109)', async () => {
    const { north, queues, take } = setUp();
    north.namespaces.clear();
    queues.enqueueImports(webKey);
    assert.deepEqual(await take(), ['imports east shop/web', 'imports west shop/web']);
  });

  test('in one member that deletes it, if no member has its namespace', async () => {
    const { east, west, north, queues, take } = setUp();
    for (const { namespaces } of [east, west, north]) namespaces.clear();
    queues.enqueueImports(webKey);
    assert.deepEqual(await take(), ['imports east shop/web']);
  });

  test('as an export in the members that export it', async () => {
    const { queues, take } = setUp();
    queues.enqueueExports(webKey);
    assert.deepEqual(await take(), ['exports east shop/web']);
  });

  test('everywhere, after a member that exports it was lost or has returned', async () => {
    const { east, services, queues, take } = setUp();
    services.get(webKey);
    queues.enqueueRelatedTo(east.member);
    assert.deepEqual(await take(), [
      'exports east shop/web',
      'imports east shop/web',
      'imports north shop/web',
      'imports west shop/web',
    ]);
  });

  test('nowhere before the queues are open, nor after they are closed', async () => {
    const closed = setUp({ isOpen: false });
    closed.queues.enqueueIn('east', webKey);
    closed.queues.enqueueRelatedTo(closed.east.member);
    assert.deepEqual(await closed.take(), []);
    const { queues, take } = setUp();
    await queues.closeAll();
    queues.enqueueImports(webKey);
    queues.enqueueExports(webKey);
    assert.deepEqual(await take(), []);
  });
});
