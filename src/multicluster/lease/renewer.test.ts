import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failure } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import { ManualClock } from '../../client/testing/clocks.ts';
import { MemberInMemory, webKey } from '../testing/member.ts';
import { record } from '../testing/records.ts';
import { leaseName, renewed } from './lease.ts';
import { Renewer } from './renewer.ts';

/** The leases of a cluster, and the requests for them: `update east`. */
class LeaseServer {
  readonly leases = new Map<string, Lease>();
  readonly requests: string[] = [];
  /** Updates are not answered. */
  hangs = false;
  #revision = 0;

  /** Writes a lease as another controller. */
  put(lease: Lease): Lease {
    const name = lease.metadata.name ?? '';
    const stored = {
      ...lease,
      metadata: { uid: `${name}-uid`, ...lease.metadata, resourceVersion: `${++this.#revision}` },
    };
    this.leases.set(name, stored);
    return stored;
  }

  list = async () => this.#answer('list', { items: [...this.leases.values()] });
  find = async (_: Kind, { name }: { readonly name: string }) => this.#answer(`find ${name}`, this.leases.get(name));
  create = async (_: Kind, lease: Lease) => this.#answer(`create ${lease.metadata.name}`, this.put(lease));

  update = async (_: Kind, lease: Lease, { signal }: { readonly signal: AbortSignal }) => {
    const { name = '', resourceVersion } = lease.metadata;
    this.#answer(`update ${name}`, undefined);
    if (this.hangs)
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    if (this.leases.get(name)?.metadata.resourceVersion !== resourceVersion)
      throw failure({ code: 409, reason: 'Conflict', message: 'the object has been modified' });
    return this.put(lease);
  };

  delete = async (_: Kind, { name }: { readonly name: string }) => {
    this.leases.delete(name);
    return this.#answer(`delete ${name}`, undefined);
  };

  /** The requests since the last call, with the sources instead of the names of their leases. */
  take(): readonly string[] {
    return this.requests.splice(0).map((request) => request.replace(leaseName(''), ''));
  }

  #answer<T>(request: string, value: T): T {
    this.requests.push(request);
    return value;
  }
}

/** A renewer for members with these ids. East exports a service that every other member can import. */
async function start(...ids: readonly string[]) {
  const clock = new ManualClock();
  const stop = new AbortController();
  const set = ids.map((id) => {
    const memory = new MemberInMemory(id);
    memory.slicesOfSource = 0;
    const leases = new LeaseServer();
    return { memory, leases, member: Object.assign(memory, { client: leases }).member };
  });
  set[0]?.memory.exports.set(webKey, record(ids[0] ?? ''));
  const errors: string[] = [];
  let otherHolders = 0;
  const renewer = new Renewer({
    renewMs: 5000,
    durationMs: 40_000,
    members: () => set.map(({ member }) => member),
    holder: 'a',
    clock,
    onError: (error, { id }) => void errors.push(`${id}: ${String(error)}`),
    onOtherHolder: () => otherHolders++,
  });
  const running = renewer.run(stop.signal);
  await clock.advance(0);
  /** Each source answers another probe. */
  const answered = (): void => {
    for (const { memory } of set) memory.probe.confirmedAt++;
  };
  return { clock, set, errors, answered, holders: () => otherHolders, stop: async () => (stop.abort(), running) };
}

describe('the renewer of leases of sources', () => {
  test('MCS-81 renews each lease once after each answered probe', async () => {
    const { clock, set, answered, stop } = await start('east', 'west');
    const [, west] = set;
    assert.ok(west);
    assert.deepEqual(west.leases.take(), ['list', 'find east', 'create east', 'find west', 'create west']);
    await clock.advance(5000);
    assert.deepEqual(west.leases.take(), []);
    answered();
    await clock.advance(1000);
    assert.deepEqual(west.leases.take(), ['update east', 'update west']);
    await stop();
  });

  test('MCS-81 does not renew the lease of a source that does not answer', async () => {
    const { clock, set, answered, stop } = await start('east', 'west');
    const [east, west] = set;
    assert.ok(east && west);
    west.leases.take();
    east.memory.probe.state = 'silent';
    answered();
    await clock.advance(1000);
    assert.deepEqual(west.leases.take(), ['update west']);
    await stop();
  });

  for (const [what, change] of [
    ['does not answer', ({ probe }: MemberInMemory) => void (probe.state = 'silent')],
    ['leaves the set', ({ options }: MemberInMemory) => void Object.assign(options, { isLeaving: true })],
    ['has an agent of its own', ({ options }: MemberInMemory) => void Object.assign(options, { isReadOnly: true })],
  ] as const) {
    test(`writes no lease to an importer that ${what}`, async () => {
      const { clock, set, answered, stop } = await start('east', 'west');
      const [, west] = set;
      assert.ok(west);
      west.leases.take();
      change(west.memory);
      answered();
      await clock.advance(1000);
      assert.deepEqual(west.leases.take(), []);
      await stop();
    });
  }

  test('MCS-88 an importer that hangs does not delay the leases in others, and is retried after a timeout', async () => {
    const { clock, set, answered, errors, stop } = await start('east', 'west', 'north');
    const [, west, north] = set;
    assert.ok(west && north);
    west.leases.hangs = true;
    for (const { leases } of set) leases.take();
    answered();
    await clock.advance(1000);
    assert.deepEqual(west.leases.take(), ['update east']);
    assert.deepEqual(north.leases.take(), ['update east', 'update north']);
    answered();
    await clock.advance(39_000);
    assert.deepEqual([errors, west.leases.take()], [[], []], 'one renewal at a time');
    west.leases.hangs = false;
    await clock.advance(2000);
    assert.match(errors.join(), /^west: .*no answer in 40000 ms$/);
    assert.ok(west.leases.take().includes('update east'));
    await stop();
  });

  test('renews a lease that another controller has renewed, and reports that controller', async () => {
    const { clock, set, answered, holders, stop } = await start('east', 'west');
    const [, west] = set;
    assert.ok(west);
    west.leases.take();
    const lease = west.leases.leases.get(leaseName('east'));
    const renewal = { source: 'east', uid: 'east-uid', holder: 'b', durationMs: 40_000, nowMs: 0 };
    west.leases.put(renewed(lease, renewal));
    answered();
    await clock.advance(1000);
    assert.deepEqual(west.leases.take(), ['update east', 'find east', 'update east', 'update west']);
    assert.equal(holders(), 1);
    assert.equal(west.leases.leases.get(leaseName('east'))?.spec.holderIdentity, 'a');
    await stop();
  });

  test('deletes the lease of a source that a cluster no longer imports from', async () => {
    const { clock, set, stop } = await start('east', 'west');
    const [east, west] = set;
    assert.ok(east && west);
    west.leases.take();
    east.memory.exports.clear();
    await clock.advance(1000);
    assert.deepEqual(west.leases.take(), ['delete east']);
    await stop();
  });
});
