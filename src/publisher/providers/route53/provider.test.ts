import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../../client/clock.ts';
import { recordSet } from '../../plan/record-set.ts';
import { zoneOf } from '../../plan/testing/objects.ts';
import { conflictContract, converge, plan, providerContract, published, zone } from '../testing/contract.ts';
import { connect } from './connect.ts';
import type { Route53Options } from './provider.ts';
import { Route53Provider } from './provider.ts';
import { readZoneName } from './record-sets.ts';
import type { StoredSet } from './testing/stand-in.ts';
import { errorAnswer, StandIn } from './testing/stand-in.ts';

const { signal } = new AbortController();
const one = 'one.example.org 60 A 192.0.2.1';
const registered = (name: string, rest: Partial<StoredSet> = {}): StoredSet => ({
  name,
  type: 'TXT',
  ttl: '60',
  values: ['"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/shop"'],
  ...rest,
});

async function providerFor(standIn: StandIn, options: Partial<Route53Options> = {}): Promise<Route53Provider> {
  const client = await connect({ endpoint: standIn.endpoint, maxAttempts: 1 });
  return new Route53Provider({ client, zones: [zone], zoneIds: [], clock: systemClock, rereadMs: 0, ...options });
}

describe('the route53 provider', () => {
  before(() => {
    process.env['AWS_ACCESS_KEY_ID'] ??= 'test';
    process.env['AWS_SECRET_ACCESS_KEY'] ??= 'test';
  });

  describe('with a stand-in', () => {
    let standIn: StandIn | undefined;
    const open = async (): Promise<Route53Provider> => providerFor((standIn ??= await StandIn.start()));
    providerContract(open);
    conflictContract(open);
    after(() => standIn?.[Symbol.asyncDispose]());
  });

  test('SRV-10 sends sets as Route 53 expects them, and deletes them as they were returned', async () => {
    await using standIn = await StandIn.start();
    await using provider = await providerFor(standIn);
    const srv = '_a._udp.one.example.org 60 SRV 0 100 88 one.example.org.';
    await converge(
      provider,
      `${one}\n${srv}\nalias.example.org 60 CNAME lb.example.net.\n*.w.example.org 60 A 192.0.2.2`,
    );
    assert.deepEqual(standIn.get('_a._udp.one.example.org.', 'SRV')?.values, ['0 100 88 one.example.org.']);
    assert.deepEqual(standIn.get('alias.example.org.', 'CNAME')?.values, ['lb.example.net.']);
    assert.deepEqual(standIn.get('\\052.w.example.org.', 'A')?.values, ['192.0.2.2']);
    assert.deepEqual(standIn.get('a-one.example.org.', 'TXT'), registered('a-one.example.org.'));
    // As people write it by hand.
    standIn.put({ name: 'one.example.org.', type: 'A', ttl: '60', values: ['192.0.2.9', '192.0.2.1'] });
    standIn.put({ name: 'alias.example.org.', type: 'CNAME', ttl: '60', values: ['LB.example.net'] });
    assert.deepEqual(await converge(provider, ''), []);
    assert.equal(standIn.sets.size, 0);
  });

  test('reads all pages, and none again until it is time, or the zone turns out to have changed', async () => {
    await using standIn = await StandIn.start();
    standIn.pageSize = 2;
    let now = 0;
    const clock = { ...systemClock, elapsed: () => now };
    await using provider = await providerFor(standIn, { clock, rereadMs: 60_000 });
    const names = ['a', 'b', 'c', 'd'].map((name) => `${name}.example.org 60 A 192.0.2.1`);
    await converge(provider, names.join('\n'));
    const reads = (): number => standIn.requests.splice(0).filter((each) => /^GET .*rrset$/.test(each)).length;
    assert.equal(reads(), 1);
    assert.deepEqual(await converge(provider, [...names, one].join('\n')), []);
    assert.deepEqual(await plan(provider, [...names, one].join('\n')), []);
    assert.equal(reads(), 0);
    standIn.put({ name: 'one.example.org.', type: 'A', ttl: '60', values: ['192.0.2.9'] });
    const failures = await converge(provider, names.join('\n'));
    assert.deepEqual(
      failures.map(({ change, state }) => [change.name, state]),
      [['one.example.org', 'stale']],
    );
    assert.equal(standIn.get('one.example.org.', 'A')?.values[0], '192.0.2.9', 'it is not overwritten');
    assert.deepEqual(await converge(provider, names.join('\n')), []);
    assert.equal(reads(), 5);
    now = 60_000;
    await provider.read(zone, signal);
    assert.equal(reads(), 4);
  });

  test('sets of routing policies and aliases of others are never changed; its own alias is replaced', async () => {
    await using standIn = await StandIn.start();
    const weighted = { type: 'A', ttl: '60', values: ['192.0.2.9'] };
    standIn.put(
      { name: 'one.example.org.', ...weighted, identifier: 'x' },
      { name: 'one.example.org.', ...weighted, identifier: 'y' },
      registered('a-one.example.org.', { identifier: 'x' }),
      { name: 'lb.example.org.', type: 'A', values: [], alias: 'lb.example.net.' },
      { name: 'mine.example.org.', type: 'A', values: [], alias: 'lb.example.net.' },
      registered('a-mine.example.org.'),
    );
    await using provider = await providerFor(standIn);
    const desired = ['one', 'lb', 'mine'].map((name) => `${name}.example.org 60 A 192.0.2.1`).join('\n');
    assert.deepEqual(
      (await plan(provider, desired)).map(({ name }) => name),
      ['mine.example.org'],
    );
    assert.deepEqual(await converge(provider, desired), []);
    assert.deepEqual(standIn.get('mine.example.org.', 'A')?.values, ['192.0.2.1']);
    assert.equal(standIn.get('lb.example.org.', 'A')?.alias, 'lb.example.net.');
  });

  test('a set that Route 53 rejects, or that is too large for it, is reported, and all others are applied', async () => {
    await using standIn = await StandIn.start();
    await using provider = await providerFor(standIn);
    const large = Array.from(
      { length: 1000 },
      (_, index) => `large.example.org 60 A 10.0.${index >> 8}.${index & 255}`,
    );
    const others = Array.from({ length: 9 }, (_, index) => `n${index}.example.org 60 A 192.0.2.1`);
    // The plan rejects it too. Here the zone changes after it was read.
    const changes = await plan(provider, [...large, ...others, 'www.example.org 60 A 192.0.2.1'].join('\n'));
    standIn.put({ name: 'www.example.org.', type: 'CNAME', ttl: '60', values: ['example.net.'] });
    const failures = await provider.apply(zone, changes, signal);
    assert.deepEqual(failures.map(({ change, state }) => `${change.name} ${state}`).toSorted(), [
      'large.example.org rejected',
      'www.example.org stale',
    ]);
    assert.match(failures[0]?.message ?? '', /more than 1000 elements or 32000 characters/);
    assert.equal((await published(provider)).length, 10);
  });

  for (const isErrorList of [false, true])
    test(`one bad set of many is isolated${isErrorList ? ', also with the older form of the error' : ''}`, async () => {
      await using standIn = await StandIn.start();
      standIn.isErrorList = isErrorList;
      await using provider = await providerFor(standIn);
      const good = Array.from({ length: 30 }, (_, index) => `n${index}.example.org 60 A 192.0.2.1`);
      const changes = await plan(provider, good.join('\n'));
      const [first] = changes;
      assert.ok(first !== undefined);
      const after = recordSet('stray.example.net', 'A', { ttl: 60, values: ['192.0.2.1'] });
      const stray = { ...first, name: after.name, changes: [{ before: undefined, after }] };
      const failures = await provider.apply(zone, changes.toSpliced(17, 0, stray), signal);
      assert.deepEqual(
        failures.map(({ change, state }) => [change.name, state]),
        [['stray.example.net', 'rejected']],
      );
      assert.match(
        failures[0]?.message ?? '',
        /^Route 53: \[?RRSet with DNS name stray\.example\.net\. is not permitted/,
      );
      assert.equal((await published(provider)).length, 30);
    });

  test('finds the public zone by its name, or any zone by its id', async () => {
    await using standIn = await StandIn.start();
    standIn.zones = [
      { id: 'Z0', name: 'example.org.', isPrivate: true },
      { id: 'Z1', name: 'example.org.' },
      { id: 'Z2', name: 'example.org.evil.net.' },
      { id: 'Z3', name: 'two.example.' },
      { id: 'Z4', name: 'two.example.' },
    ];
    const zonesOf = async (options: Partial<Route53Options>) => (await providerFor(standIn, options)).zones(signal);
    assert.deepEqual(await zonesOf({}), ['example.org']);
    assert.deepEqual(await zonesOf({ zones: [], zoneIds: ['Z0'] }), ['example.org']);
    await assert.rejects(
      zonesOf({ zones: ['gone.example'] }),
      /no public hosted zone gone\.example: create it, or pass --aws-/,
    );
    await assert.rejects(
      zonesOf({ zones: ['two.example'] }),
      /several hosted zones two\.example: .*--aws-zone-id Z3, Z4/,
    );
    await assert.rejects(zonesOf({ zoneIds: ['Z9'] }), /Route 53: No hosted zone found with ID: Z9/);
  });

  test('errors of AWS that concern no set end the sync', async () => {
    await using standIn = await StandIn.start();
    await using provider = await providerFor(standIn);
    const changes = await plan(provider, one);
    standIn.answer = () =>
      errorAnswer('AccessDenied', 'not authorized to perform: route53:ChangeResourceRecordSets', 403);
    await assert.rejects(
      provider.apply(zone, changes, signal),
      /^ProviderError: Route 53: not authorized to perform: route53:Cha/,
    );
    standIn.answer = () => undefined;
    assert.deepEqual(await converge(provider, one), []);
  });
});

test('names of Route 53 with octal characters are read', () => {
  const name = [...zoneOf('*.w.example.org 60 A 192.0.2.1').keys()][0];
  assert.equal(readZoneName('\\052.W.example.org.'), name);
  assert.equal(readZoneName('a\\300b.example.org.'), readZoneName('a\\300b.EXAMPLE.org'));
  assert.equal(readZoneName('..'), undefined);
});
