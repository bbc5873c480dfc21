import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { until } from '../../server/testing/until.ts';
import { ManualClock } from '../../client/testing/clocks.ts';
import { rcodes, types } from '../../dnswire/codes.ts';
import { RecursionPolicy } from './policy.ts';
import type { Behaviour } from './testing/fake-upstream.ts';
import { answers, silent, slow } from './testing/fake-upstream.ts';
import { withForwarder, addressOf, client } from './testing/forwarder.ts';

suite('limits', () => {
  test('refuses clients that may not recurse without any query', async () => {
    const policy = new RecursionPolicy({ allow: ['10.0.0.0/8'] });
    await withForwarder([answers('192.0.2.1')], { policy }, async ({ resolve, servers }) => {
      const answer = await resolve('www.example.org', client('203.0.113.7'));
      assert.equal(answer.rcode, rcodes.REFUSED);
      assert.match(answer.problem?.text ?? '', /203\.0\.113\.7 may not/);
      assert.equal((await resolve('www.example.org', client('10.1.2.3'))).rcode, rcodes.NOERROR);
      assert.equal(
        (await resolve('www.example.org', client('203.0.113.7'))).rcode,
        rcodes.REFUSED,
        'nor from the cache',
      );
      assert.equal(servers[0]?.queriesFor('www.example.org').length, 1);
    });
  });

  test('refuses a client above its rate, and no others', async () => {
    const policy = new RecursionPolicy({ allow: ['10.0.0.0/8'], perSecond: 5, clock: new ManualClock() });
    await withForwarder([answers('192.0.2.1')], { policy }, async ({ resolve }) => {
      const codes = new Set<number>();
      for (let each = 0; each < 10; each++)
        codes.add((await resolve(`n${each}.example.org`, client('10.0.0.1'))).rcode);
      assert.deepEqual([...codes], [rcodes.NOERROR, rcodes.REFUSED]);
      assert.equal(
        (await resolve('n0.example.org', client('10.0.0.1'))).rcode,
        rcodes.NOERROR,
        'what is cached costs nothing',
      );
      assert.equal((await resolve('n9.example.org', client('10.0.0.2'))).rcode, rcodes.NOERROR);
    });
  });

  test('limits queries per client, in total, and at upstreams', async () => {
    const options = { maxWaitingPerClient: 2, maxWaiting: 4, maxInFlight: 3, deadlineMs: 150 };
    await withForwarder([silent], options, async ({ resolve, forwarder, clock }) => {
      const waiting = [resolve('www.a.example', client('10.0.0.1')), resolve('www.b.example', client('10.0.0.1'))];
      assert.equal((await resolve('www.c.example', client('10.0.0.1'))).rcode, rcodes.REFUSED);
      waiting.push(resolve('www.c.example', client('10.0.0.2')));
      const tooMany = await resolve('www.d.example', client('10.0.0.2'));
      assert.equal(tooMany.rcode, rcodes.SERVFAIL);
      waiting.push(resolve('www.a.example', client('10.0.0.2')));
      assert.equal((await resolve('www.a.example', client('10.0.0.3'))).rcode, rcodes.SERVFAIL);
      assert.deepEqual(forwarder.counters.refused, {
        overload: 2,
        domain: 0,
        client: 1,
        rate: 0,
        stranger: 0,
        kind: 0,
      });
      await clock.advance(150);
      await Promise.all(waiting);
      assert.equal(forwarder.inFlight, 0);
      assert.equal((await resolve('www.a.example', client('10.0.0.3'))).rcode, rcodes.SERVFAIL, 'there is room again');
      assert.equal(forwarder.counters.refused.overload, 2);
    });
  });

  test('a flood of random names below one domain leaves capacity for others', async () => {
    const behaviour: Behaviour = (arrival, server) =>
      arrival.name.toLowerCase().endsWith('victim.example') ? undefined : answers('192.0.2.1')(arrival, server);
    await withForwarder([behaviour], { maxInFlight: 40, deadlineMs: 1000 }, async ({ resolve, forwarder, clock }) => {
      const flood = Array.from({ length: 200 }, (_, each) =>
        resolve(`x${each}.victim.example`, client(`10.0.0.${each % 50}`)),
      );
      const others = Array.from({ length: 100 }, (_, each) => resolve(`www.n${each}.example`, client('10.0.1.1')));
      // Sequential, since concurrent queries would exceed the limit.
      await Promise.all(others);
      for (let each = 0; each < 50; each++) {
        assert.equal(addressOf(await resolve(`www.m${each}.example`, client('10.0.1.1'))), '192.0.2.1');
      }
      assert.equal(forwarder.counters.refused.domain, 190);
      await clock.advance(1000);
      assert.ok((await Promise.all(flood)).every(({ rcode }) => rcode === rcodes.SERVFAIL));
    });
  });

  const kinds: readonly { name: string; type: number; class?: number }[] = [
    { name: 'AXFR', type: types.AXFR },
    { name: 'IXFR', type: types.IXFR },
    { name: 'TSIG', type: types.TSIG },
    { name: 'OPT', type: types.OPT },
    { name: 'the CHAOS class', type: types.TXT, class: 3 },
  ];
  for (const { name, type, class: questionClass = 1 } of kinds) {
    test(`${name} is not forwarded`, async () => {
      await withForwarder([answers('192.0.2.1')], {}, async ({ forwarder, servers }) => {
        const question = { name: 'example.org', type, class: questionClass };
        const answer = await forwarder.resolve(question, { dnssecOk: false, checkingDisabled: false });
        assert.equal(answer.rcode, rcodes.REFUSED);
        assert.equal(servers[0]?.arrivals.length, 0);
      });
    });
  }
});

test('does not cache the limit of an upstream as a failure', async () => {
  await withForwarder(
    [slow(60, answers('192.0.2.1'))],
    { upstream: { maxConcurrent: 2 } },
    async ({ resolve, forwarder }) => {
      // One of the two is a loop probe.
      const first = resolve('a.example.org');
      const second = await resolve('b.example.org');
      assert.equal(second.rcode, rcodes.SERVFAIL);
      assert.match(second.problem?.text ?? '', /has 2 queries in flight/);
      assert.equal(addressOf(await first), '192.0.2.1');
      await until('no query is in flight', () => forwarder.upstreams.every(({ inFlight }) => inFlight === 0));
      assert.equal(addressOf(await resolve('b.example.org')), '192.0.2.1');
    },
  );
});
