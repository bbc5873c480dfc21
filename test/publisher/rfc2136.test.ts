// Our updates and transfers against BIND and Knot, with TSIG.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { systemClock } from '../../src/client/clock.ts';
import type { Clock } from '../../src/client/clock.ts';
import type { Claim } from '../../src/publisher/plan/claim.ts';
import type { NameChange } from '../../src/publisher/plan/changes.ts';
import { planZone } from '../../src/publisher/plan/testing/objects.ts';
import { desiredSets } from '../../src/publisher/plan/desired.ts';
import { recordSet } from '../../src/publisher/plan/record-set.ts';
import type { Failure } from '../../src/publisher/providers/provider.ts';
import { parseKeyFile } from '../../src/publisher/providers/rfc2136/key-file.ts';
import { conflictContract, providerContract } from '../../src/publisher/providers/testing/contract.ts';
import { Rfc2136Provider } from '../../src/publisher/providers/rfc2136/provider.ts';
import { run } from '../harness/command.ts';
import { unlessInstalled } from '../harness/needs.ts';
import type { Key, Maker } from './servers.ts';
import { key, keyFile, nextKey, PrimaryServer, zone } from './servers.ts';
import { dig } from '../dns/clients.ts';

const registry = { ownerId: 'me', prefix: '', suffix: '', wildcardReplacement: '' };

/** A claim of sets, each as `name ttl type value | value`. */
const claim = (...sets: readonly string[]): Claim => ({
  resource: 'service/default/shop',
  namespace: 'default',
  since: '',
  refusals: [],
  properties: {},
  sets: sets.map((text) => {
    const [name = '', ttl = '', type = '', ...values] = text.split(' ');
    return recordSet(name, type, { ttl: Number(ttl), values: values.join(' ').split(' | ') });
  }),
});

const addresses = (count: number): string =>
  Array.from({ length: count }, (_, index) => `10.0.${index >> 8}.${index & 255}`).join(' | ');

const { signal } = new AbortController();

const shifted = (seconds: number): Clock => ({ ...systemClock, now: () => Date.now() + seconds * 1000 });

for (const maker of ['BIND', 'Knot'] as const satisfies readonly Maker[]) {
  describe(`the rfc2136 provider with ${maker}`, { skip: unlessInstalled('named', 'knotd', 'dig', 'nsupdate') }, () => {
    let server: PrimaryServer;
    const stack = new AsyncDisposableStack();
    before(async () => {
      server = stack.use(await PrimaryServer.start(maker));
    });
    after(() => stack.disposeAsync());

    const connect = (
      use: Key | 'none' = key,
      {
        clock = systemClock,
        places = [server.place],
      }: { readonly clock?: Clock; readonly places?: readonly PrimaryServer['place'][] } = {},
    ): Rfc2136Provider => {
      const parsed = use === 'none' ? undefined : parseKeyFile(keyFile(use));
      return stack.use(
        new Rfc2136Provider({ zones: [zone], servers: places, key: () => parsed, clock, timeoutMs: 5000 }),
      );
    };

    describe('as every provider', () => {
      let empty: PrimaryServer;
      before(async () => {
        empty = stack.use(await PrimaryServer.start(maker, { isEmpty: true }));
      });
      const open = async (): Promise<Rfc2136Provider> => connect(key, { places: [empty.place] });
      providerContract(open);
      conflictContract(open);
    });

    const planned = async (provider: Rfc2136Provider, claims: readonly Claim[]): Promise<readonly NameChange[]> => {
      const desired = desiredSets(claims, { zones: [zone], filter: { include: [], exclude: [] }, registry }).zones.get(
        zone,
      );
      const { content } = await provider.read(zone, signal);
      const kept = { resources: new Set<string>(), allImports: false };
      return planZone({ zone, desired: desired ?? new Map(), kept, content, registry, policy: 'sync' }).changes;
    };

    const converge = async (provider: Rfc2136Provider, ...claims: readonly Claim[]): Promise<readonly Failure[]> =>
      provider.apply(zone, await planned(provider, claims), signal);

    const answers = async (name: string, type?: string): Promise<readonly string[]> =>
      (await dig(server.place, `${name}.${zone}`, type)).answer;

    const byHand = async (...lines: readonly string[]): Promise<void> => {
      const { address, port } = server.place;
      const input = [`server ${address} ${port}`, `zone ${zone}`, ...lines, 'send', ''].join('\n');
      const secret = `${key.algorithm}:${key.name}:${key.secret}`;
      const { code, out, err } = await run('nsupdate', ['-y', secret], { input });
      assert.equal(code, 0, out + err);
    };

    test('SRV-10 creates, changes and deletes sets of all types, with their registry records', async () => {
      const provider = connect();
      const all = claim(
        'one.example.org 60 A 192.0.2.1 | 192.0.2.2',
        'one.example.org 60 AAAA 2001:db8::1',
        '_kerberos._udp.one.example.org 60 SRV 0 100 88 one.example.org.',
        'alias.example.org 60 CNAME www.example.net.',
        '*.wild.example.org 60 A 192.0.2.3',
      );
      assert.deepEqual(await converge(provider, all), []);
      assert.deepEqual(await answers('one'), ['A 192.0.2.1', 'A 192.0.2.2']);
      assert.deepEqual(await answers('one', 'AAAA'), ['AAAA 2001:db8::1']);
      assert.deepEqual(await answers('_kerberos._udp.one', 'SRV'), ['SRV 0 100 88 one.example.org.']);
      assert.deepEqual(await answers('alias', 'CNAME'), ['CNAME www.example.net.']);
      assert.deepEqual(await answers('anything.wild'), ['A 192.0.2.3']);
      const txt = 'TXT "heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/shop"';
      for (const name of ['a-one', 'aaaa-one', 'srv-_kerberos._udp.one', 'cname-alias', 'a-*.wild'])
        assert.deepEqual(await answers(name, 'TXT'), [txt], name);
      assert.deepEqual(await planned(provider, [all]), [], 'nothing is left to do');

      const changed = claim('one.example.org 30 A 192.0.2.2 | 192.0.2.4', 'alias.example.org 60 A 192.0.2.5');
      assert.deepEqual(await converge(provider, changed), []);
      assert.deepEqual(await answers('one'), ['A 192.0.2.2', 'A 192.0.2.4']);
      assert.deepEqual(await answers('one', 'AAAA'), []);
      assert.deepEqual(await answers('alias'), ['A 192.0.2.5']);
      assert.deepEqual(await planned(provider, [changed]), []);
      assert.deepEqual(await planned(connect(), [changed]), [], 'a new provider reads the same');

      assert.deepEqual(await converge(provider), []);
      for (const name of ['one', 'alias', 'a-one', 'anything.wild'])
        assert.equal((await dig(server.place, `${name}.${zone}`)).status, 'NXDOMAIN', name);
      assert.deepEqual(await answers('www'), ['A 192.0.2.80'], 'what it does not own stays');
    });

    test('a zone that was changed after it was read is not overwritten', async () => {
      const provider = connect();
      const own = claim('two.example.org 60 A 192.0.2.1');
      const stale = await planned(provider, [own]);
      await byHand(`update add two.${zone} 60 A 192.0.2.99`);
      const failures = await provider.apply(zone, stale, signal);
      assert.deepEqual(
        failures.map(({ state }) => state),
        ['stale'],
      );
      assert.deepEqual(await answers('two'), ['A 192.0.2.99']);
      assert.deepEqual(await planned(provider, [own]), [], 'it has no owner');
      await byHand(`update delete two.${zone}`);
      assert.deepEqual(await converge(provider, own), []);

      const more = await planned(provider, [claim('two.example.org 60 A 192.0.2.2')]);
      await byHand(`update add two.${zone} 60 A 192.0.2.98`);
      assert.deepEqual(
        (await provider.apply(zone, more, signal)).map(({ state }) => state),
        ['stale'],
        'another value',
      );
      const owned = await planned(provider, [claim('two.example.org 60 A 192.0.2.2')]);
      await byHand(`update delete a-two.${zone} TXT`);
      assert.deepEqual(
        (await provider.apply(zone, owned, signal)).map(({ state }) => state),
        ['stale'],
        'another owner',
      );
      await byHand(`update delete two.${zone}`);
    });

    test('an alias that was added after the zone was read is noticed: the server would answer NOERROR and change nothing', async () => {
      const provider = connect();
      await byHand(`update add three.${zone} 60 MX 10 www.${zone}.`);
      const stale = await planned(provider, [claim('three.example.org 60 A 192.0.2.1')]);
      await byHand(`update delete three.${zone}`, `update add three.${zone} 60 CNAME www.${zone}.`);
      assert.deepEqual(
        (await provider.apply(zone, stale, signal)).map(({ state }) => state),
        ['stale'],
      );
      await byHand(`update delete three.${zone}`);
    });

    test('of two publishers at once one wins for each name, and both agree afterwards', async () => {
      const claims = [claim(...Array.from({ length: 40 }, (_, index) => `race-${index}.example.org 60 A 192.0.2.1`))];
      const both = [connect(), connect()];
      const plans = await Promise.all(both.map((provider) => planned(provider, claims)));
      const results = await Promise.all(
        both.map((provider, index) => provider.apply(zone, plans[index] ?? [], signal)),
      );
      assert.ok(results.flat().every(({ state }) => state === 'stale'));
      assert.equal(results.flat().length, 40);
      for (const provider of both) assert.deepEqual(await planned(provider, claims), []);
      assert.deepEqual(await converge(connect()), []);
    });

    test('one bad record of many is isolated, and all others are applied', async () => {
      const provider = connect();
      const good = Array.from({ length: 30 }, (_, index) => `good-${index}.example.org 60 A 192.0.2.1`);
      const changes = await planned(provider, [claim(...good)]);
      const outside = recordSet('stray.example.net', 'A', { ttl: 60, values: ['192.0.2.1'] });
      const stray: NameChange = {
        name: outside.name,
        changes: [{ before: undefined, after: outside }],
        unused: [outside.name],
        noAlias: [],
        resources: [],
        kind: 'create',
      };
      const failures = await provider.apply(zone, changes.toSpliced(17, 0, stray), signal);
      assert.deepEqual(
        failures.map(({ change, state }) => [change.name, state]),
        [['stray.example.net', 'rejected']],
      );
      assert.match(failures[0]?.message ?? '', /NOTZONE: a name is outside the zone/);
      assert.deepEqual(await planned(provider, [claim(...good)]), []);
      assert.deepEqual(await converge(provider), []);
    });

    test('more records than fit into a message are rejected without sending one', async () => {
      const provider = connect();
      const huge = claim(`huge.example.org 60 A ${addresses(5000)}`, 'small.example.org 60 A 192.0.2.1');
      const failures = await converge(provider, huge);
      assert.deepEqual(
        failures.map(({ change }) => change.name),
        ['huge.example.org'],
      );
      assert.match(failures[0]?.message ?? '', /more than a DNS message/);
      assert.deepEqual(await answers('small'), ['A 192.0.2.1']);
      await converge(provider);
    });

    test('a zone of many messages is read with the signature of each checked', async () => {
      const provider = connect();
      const sets = Array.from({ length: 5000 }, (_, index) => `many-${index}.example.org 60 A 192.0.2.1`);
      assert.deepEqual(await converge(provider, claim(...sets)), []);
      for (const each of [key, nextKey])
        assert.deepEqual(await planned(connect(each), [claim(...sets)]), [], each.algorithm);
      assert.deepEqual(await planned(provider, [claim(...sets)]), [], 'by IXFR');
      const one = [...sets.slice(1), 'many-0.example.org 60 A 192.0.2.2'];
      assert.deepEqual(await converge(provider, claim(...one)), []);
      assert.deepEqual(await planned(provider, [claim(...one)]), []);
      assert.deepEqual(await converge(provider), []);
    });

    test('a wrong secret, an unknown key, another algorithm and a wrong clock are each named', async () => {
      const wrong = { ...key, secret: nextKey.secret };
      await assert.rejects(connect(wrong).read(zone, signal), /BADSIG: the secret of key "fl-key" differs/);
      await assert.rejects(connect({ ...key, name: 'nobody' }).read(zone, signal), /BADKEY: key "nobody" is unknown/);
      await assert.rejects(connect({ ...key, algorithm: 'hmac-sha1' }).read(zone, signal), /BADKEY/);
      const late = connect(key, { clock: shifted(-1000) });
      await assert.rejects(late.read(zone, signal), /BADTIME: its clock is (?:999|1000|1001) s ahead of ours/);
      await assert.rejects(connect('none').read(zone, signal), /REFUSED|NOTAUTH/);
    });

    test('another zone is named', async () => {
      const provider = connect();
      await assert.rejects(provider.read('example.net', signal), /NOTAUTH: it does not serve the zone/);
    });

    test('published records survive a restart; the next server is used while one is down; keys can be rotated', async () => {
      const own = claim('stay.example.org 60 A 192.0.2.1');
      const lone = connect();
      assert.deepEqual(await converge(lone, own), []);
      await server.stop();
      await assert.rejects(lone.read(zone, signal), /ECONNREFUSED|closed/);
      await server.start([nextKey]);
      await assert.rejects(lone.read(zone, signal), /BADKEY/);
      const nobody = { address: '127.0.0.1', port: 1 };
      const rotated = connect(nextKey, { places: [nobody, server.place] });
      assert.deepEqual(await planned(rotated, [own]), []);
      assert.deepEqual(await converge(rotated, claim('stay.example.org 60 A 192.0.2.2')), []);
      assert.deepEqual(await answers('stay'), ['A 192.0.2.2']);
      await server.stop();
      await server.start();
      assert.deepEqual(await answers('stay'), ['A 192.0.2.2']);
      assert.deepEqual(await converge(lone), []);
    });

    test('updates go to the next server if one rejects all of them', async () => {
      await using readOnly = await PrimaryServer.start(maker, { isReadOnly: true });
      const own = claim('next.example.org 60 A 192.0.2.1');
      const lone = converge(connect(key, { places: [readOnly.place] }), own);
      if (maker === 'BIND') assert.match((await lone)[0]?.message ?? '', /REFUSED: key "fl-key" is not allowed/);
      else await assert.rejects(lone, /BADKEY: key "fl-key" .* is not allowed to do this/);
      const both = connect(key, { places: [readOnly.place, server.place] });
      assert.deepEqual(await converge(both, own), []);
      assert.deepEqual(await answers('next'), ['A 192.0.2.1']);
      assert.deepEqual(await converge(both), []);
    });

    if (maker === 'BIND')
      test('a name with more records than BIND allows is isolated and reported', async () => {
        const provider = connect();
        const good = Array.from({ length: 20 }, (_, index) => `fine-${index}.example.org 60 A 192.0.2.1`);
        const failures = await converge(provider, claim(`large.example.org 60 A ${addresses(101)}`, ...good));
        assert.deepEqual(
          failures.map(({ change }) => change.name),
          ['large.example.org'],
        );
        assert.match(failures[0]?.message ?? '', /SERVFAIL: .*BIND allows 100 records in a set/);
        assert.deepEqual(await answers('fine-19'), ['A 192.0.2.1']);
        assert.deepEqual(await converge(provider), []);
      });
  });
}
