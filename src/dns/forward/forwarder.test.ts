import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { until } from '../../server/testing/until.ts';
import { rcodes, types } from '../../dnswire/codes.ts';
import { isDown } from './choose.ts';
import { Forwarder } from './forwarder.ts';
import type { Behaviour } from './testing/fake-upstream.ts';
import { answers, answersCode, FakeUpstream, loses, reply, silent, slow } from './testing/fake-upstream.ts';
import { withForwarder, inRealTime, addressOf, client } from './testing/forwarder.ts';

suite('one query for many clients', () => {
  test('sends one query for a hundred concurrent clients (CVE-2023-30464)', async () => {
    await withForwarder([slow(30, answers('192.0.2.1'))], {}, async ({ resolve, servers, forwarder }) => {
      const all = await Promise.all(Array.from({ length: 100 }, () => resolve('www.example.org')));
      assert.deepEqual(new Set(all.map(addressOf)), new Set(['192.0.2.1']));
      assert.equal(servers[0]?.queriesFor('www.example.org').length, 1);
      assert.equal(forwarder.counters.coalesced, 99);
    });
  });

  test('answers from the cache until the TTL expires', async () => {
    await withForwarder([answers('192.0.2.1', 60)], {}, async ({ resolve, servers, clock }) => {
      await resolve('www.example.org');
      await clock.advance(20_000);
      const cached = await resolve('www.example.org');
      assert.ok((cached.answers[0]?.ttl ?? 0) <= 40);
      await clock.advance(41_000);
      assert.equal((await resolve('www.example.org')).answers[0]?.ttl, 60);
      assert.equal(servers[0]?.queriesFor('www.example.org').length, 2);
    });
  });

  test('sends each of many concurrent queries once', async () => {
    const queries = fc.array(fc.record({ name: fc.nat(5), host: fc.nat(9) }), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(queries, async (questions) => {
        await withForwarder([slow(5, answers('192.0.2.1'))], {}, async ({ resolve, servers }) => {
          const all = questions.map(({ name, host }) => resolve(`n${name}.example.org`, client(`10.0.0.${host}`)));
          assert.ok((await Promise.all(all)).every((answer) => addressOf(answer) === '192.0.2.1'));
          for (const name of new Set(questions.map((question) => `n${question.name}.example.org`))) {
            assert.equal(servers[0]?.queriesFor(name).length, 1);
          }
        });
      }),
      { numRuns: 20 },
    );
  });

  test('sends queries with other types, DO or CD separately', async () => {
    await withForwarder([answers('192.0.2.1')], {}, async ({ resolve, servers }) => {
      await Promise.all([
        resolve('www.example.org'),
        resolve('www.example.org', { dnssecOk: true }),
        resolve('www.example.org', { checkingDisabled: true }),
      ]);
      assert.equal(servers[0]?.queriesFor('www.example.org').length, 3);
    });
  });

  test('refreshes a popular answer once before it expires', async () => {
    await withForwarder([answers('192.0.2.1', 100)], {}, async ({ resolve, servers, clock, forwarder }) => {
      for (let each = 0; each < 4; each++) await resolve('www.example.org');
      await clock.advance(97_000);
      const all = await Promise.all(Array.from({ length: 20 }, () => resolve('www.example.org')));
      assert.ok(all.every((answer) => answer.stale === undefined));
      await until('the query is repeated', () => servers[0]?.queriesFor('www.example.org').length === 2);
      assert.equal(forwarder.counters.cache.prefetches, 1);
    });
  });

  test('queries a purged name again', async () => {
    await withForwarder([answers('192.0.2.1')], {}, async ({ resolve, servers, forwarder }) => {
      await resolve('www.example.org');
      assert.equal(forwarder.purge('example.org'), 1);
      await resolve('www.example.org');
      assert.equal(servers[0]?.queriesFor('www.example.org').length, 2);
    });
  });
});

suite('no stalls, over real sockets', () => {
  /** Clients time out after five seconds; race.test.ts tests exact times with a manual clock. */
  const deadlineMs = 5000;
  const table: readonly { name: string; first: Behaviour }[] = [
    { name: 'the first upstream is dead', first: silent },
    { name: 'the first upstream loses half', first: loses(2, answers('192.0.2.9')) },
    { name: 'the first upstream is slow', first: slow(900, answers('192.0.2.9')) },
    { name: 'the first upstream returns SERVFAIL', first: answersCode(2) },
    { name: 'the first upstream returns REFUSED', first: answersCode(5) },
    {
      name: 'the first upstream does not recurse',
      first: (arrival) => {
        const authorities = [{ type: 'NS' as const, name: 'org', ttl: 60, data: 'ns.example.org' }];
        arrival.send(reply(arrival, [], { authorities, flags: 0 }));
      },
    },
    {
      name: 'the first upstream sends garbage',
      first: (arrival) => arrival.send(Buffer.from('garbage')),
    },
  ];
  for (const { name, first } of table) {
    test(`${name}: answers 40 queries without a stall`, async () => {
      await inRealTime([first, answers('192.0.2.1')], {}, async ({ resolve }) => {
        const times: number[] = [];
        for (let each = 0; each < 40; each++) {
          const start = performance.now();
          assert.equal((await resolve(`n${each}.example.org`)).rcode, rcodes.NOERROR);
          times.push(performance.now() - start);
        }
        const sorted = times.toSorted((a, b) => a - b);
        assert.ok((sorted[20] ?? 0) < deadlineMs / 5, `the median is ${sorted[20]} ms`);
        assert.ok((sorted[39] ?? 0) < deadlineMs, `the longest took ${sorted[39]} ms`);
      });
    });
  }

  test('repeats queries to an only upstream that loses half', async () => {
    await inRealTime([loses(2, answers('192.0.2.1'))], {}, async ({ resolve }) => {
      for (let each = 0; each < 6; each++) {
        const start = performance.now();
        assert.equal(addressOf(await resolve(`n${each}.example.org`)), '192.0.2.1');
        assert.ok(performance.now() - start < deadlineMs);
      }
    });
  });

  test('uses an upstream again soon after it is up', async () => {
    await inRealTime([silent, slow(40, answers('192.0.2.2'))], {}, async ({ resolve, servers, forwarder, clock }) => {
      const [first] = forwarder.upstreams;
      for (let each = 0; first !== undefined && !isDown(first.health); each++) {
        await resolve(`n${each}.example.org`);
        clock.skip(1000);
        await new Promise((resolve) => setTimeout(resolve, 100));
        assert.ok(each < 60, 'it is seen to be down');
      }
      for (const server of servers.slice(0, 1)) server.behaviour = answers('192.0.2.1');
      clock.skip(40_000);
      await resolve('probe.example.org');
      await until('the upstream is used again', () => first !== undefined && !isDown(first.health));
      await until('no query is in flight', () => forwarder.inFlight === 0);
    });
  });

  test('answers with one good upstream among any broken ones, and always in time', async () => {
    const broken: Readonly<Record<string, Behaviour>> = {
      silent,
      servfail: answersCode(2),
      refused: answersCode(5),
      lossy: loses(2, answers('192.0.2.1')),
      slow: slow(500, answers('192.0.2.1')),
      garbage: (arrival) => arrival.send(Buffer.from('garbage')),
      wrongId: (arrival) => arrival.send(reply(arrival, [], { id: arrival.id ^ 1 })),
      wrongQuestion: (arrival) => arrival.send(reply(arrival, [], { questions: [{ name: 'x.example', type: 'A' }] })),
      truncating: (arrival) => arrival.send(reply(arrival, [], { flags: 0x0200 })),
    };
    const mix = fc.record({
      others: fc.array(fc.constantFrom(...Object.keys(broken)), { maxLength: 3 }),
      hasGood: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(mix, async ({ others, hasGood }) => {
        const behaviours = others.map((name) => broken[name] ?? silent);
        const good = hasGood ? [answers('192.0.2.1')] : [];
        await inRealTime([...behaviours, ...good], hasGood ? {} : { deadlineMs: 500 }, async ({ resolve }) => {
          const start = performance.now();
          const all = await Promise.all([resolve('a.example.org'), resolve('b.example.org'), resolve('c.example.org')]);
          assert.ok(performance.now() - start < deadlineMs, `${performance.now() - start} ms`);
          if (hasGood) assert.ok(all.every((answer) => addressOf(answer) === '192.0.2.1'));
          else assert.ok(all.every(({ rcode }) => [0, 2, 5].includes(rcode)));
        });
      }),
      { numRuns: 6 },
    );
  });

  test('returns and caches SERVFAIL with the reason if all upstreams fail (RFC 9520)', async () => {
    await withForwarder([answersCode(2), answersCode(2)], {}, async ({ resolve, servers }) => {
      const answer = await resolve('www.example.org');
      assert.equal(answer.rcode, rcodes.SERVFAIL);
      assert.match(answer.problem?.text ?? '', /127\.0\.0\.1:\d+ answered SERVFAIL/);
      assert.equal((await resolve('www.example.org')).rcode, rcodes.SERVFAIL);
      assert.deepEqual(
        servers.map((server) => server.queriesFor('www.example.org').length),
        [1, 1],
      );
    });
  });

  test('returns SERVFAIL before clients time out if all upstreams are dead', async () => {
    await inRealTime([silent], { deadlineMs: 300 }, async ({ resolve }) => {
      const start = performance.now();
      const answer = await resolve('www.example.org');
      assert.equal(answer.rcode, rcodes.SERVFAIL);
      assert.ok(performance.now() - start < deadlineMs);
    });
  });
});

suite('stale answers (RFC 8767)', () => {
  test('are returned after a delay if the upstream is dead, then at once', async () => {
    await withForwarder(
      [answers('192.0.2.1', 5)],
      { staleAfterMs: 50, deadlineMs: 200 },
      async ({ resolve, servers, clock, forwarder }) => {
        await resolve('www.example.org');
        for (const server of servers) server.behaviour = silent;
        await clock.advance(10_000);
        const waiting = resolve('www.example.org');
        await clock.advance(50);
        const first = await waiting;
        assert.equal(first.stale, true);
        assert.equal(first.answers[0]?.ttl, 30);
        await clock.advance(150);
        await until('no query is in flight', () => forwarder.inFlight === 0);
        const before = servers[0]?.queriesFor('www.example.org').length;
        assert.equal((await resolve('www.example.org')).stale, true, 'without any time going by');
        assert.equal(servers[0]?.queriesFor('www.example.org').length, before, 'upstreams are left alone for 30 s');
        assert.equal(forwarder.counters.cache.servedStale, 2);
      },
    );
  });

  test('are returned at once if the upstream returns SERVFAIL', async () => {
    await withForwarder([answers('192.0.2.1', 5)], {}, async ({ resolve, servers, clock }) => {
      await resolve('www.example.org');
      for (const server of servers) server.behaviour = answersCode(2);
      await clock.advance(10_000);
      const answer = await resolve('www.example.org');
      assert.equal(answer.stale, true);
      assert.equal(addressOf(answer), '192.0.2.1');
    });
  });

  test('are not returned if the upstream answers or returns NXDOMAIN', async () => {
    await withForwarder([answers('192.0.2.1', 5)], {}, async ({ resolve, servers, clock }) => {
      await resolve('www.example.org');
      for (const server of servers) server.behaviour = answersCode(3);
      await clock.advance(10_000);
      assert.equal((await resolve('www.example.org')).rcode, rcodes.NXDOMAIN);
      for (const server of servers) server.behaviour = answersCode(2);
      assert.equal((await resolve('www.example.org')).rcode, rcodes.SERVFAIL, 'a denied name does not come back');
    });
  });
});

suite('upstreams by zone', () => {
  test('removes private addresses from answers of default upstreams, not of stub zones, and counts them', async () => {
    await using corp = await FakeUpstream.start(answers('10.0.0.7'));
    const routes = new Map([['corp.example', [corp.endpoint]]]);
    await withForwarder([answers('10.0.0.8')], { routes, refusePrivate: true }, async ({ resolve, forwarder }) => {
      for (const source of ['upstream', 'cache']) {
        const answer = await resolve('www.example.org');
        assert.deepEqual([answer.rcode, answer.answers], [rcodes.NOERROR, []], source);
        assert.equal(addressOf(await resolve('www.corp.example')), '10.0.0.7', source);
      }
      assert.equal(forwarder.counters.privateAnswers, 2);
    });
    await withForwarder([answers('10.0.0.8')], {}, async ({ resolve }) => {
      assert.equal(addressOf(await resolve('www.example.org')), '10.0.0.8');
    });
  });

  test('uses the upstreams of the innermost zone', async () => {
    await using corp = await FakeUpstream.start(answers('192.0.2.2'));
    await using lab = await FakeUpstream.start(answers('192.0.2.3'));
    const routes = new Map([
      ['corp.example', [corp.endpoint]],
      ['lab.corp.example', [lab.endpoint]],
      ['nowhere.example', []],
    ]);
    await withForwarder([answers('192.0.2.1')], { routes }, async ({ resolve }) => {
      assert.equal(addressOf(await resolve('example.org')), '192.0.2.1');
      assert.equal(addressOf(await resolve('notcorp.example')), '192.0.2.1');
      assert.equal(addressOf(await resolve('corp.example')), '192.0.2.2');
      assert.equal(addressOf(await resolve('a.b.corp.example')), '192.0.2.2');
      assert.equal(addressOf(await resolve('a.lab.corp.example')), '192.0.2.3');
      assert.match((await resolve('a.nowhere.example')).problem?.text ?? '', /there is no upstream/);
    });
  });
});

suite('a reload', () => {
  test('keeps cache and statistics, except for zones with other upstreams', async () => {
    await using corp = await FakeUpstream.start(answers('192.0.2.2'));
    const routes = new Map([['corp.example', [corp.endpoint]]]);
    await withForwarder([answers('192.0.2.1')], {}, async ({ resolve, servers, forwarder, clock }) => {
      await resolve('www.example.org');
      await resolve('a.corp.example');
      const upstreams = servers.map(({ endpoint }) => endpoint);
      const next = new Forwarder({ upstreams, routes, clock, previous: forwarder });
      const options = { dnssecOk: false, checkingDisabled: false };
      const first = await next.resolve({ name: 'www.example.org', type: types.A, class: 1 }, options);
      assert.equal(addressOf(first), '192.0.2.1');
      assert.equal(servers[0]?.queriesFor('www.example.org').length, 1);
      assert.equal(
        addressOf(await next.resolve({ name: 'a.corp.example', type: types.A, class: 1 }, options)),
        '192.0.2.2',
      );
      assert.ok((next.upstreams[0]?.health.samples ?? 0) > 0);
      assert.equal(next.counters.cache.hits.success, 1);
      await next.close();
    });
  });
});

suite('close', () => {
  test('answers queries in flight with SERVFAIL, and releases all resources', async () => {
    await withForwarder([silent], {}, async ({ resolve, forwarder }) => {
      const answer = resolve('www.example.org');
      await forwarder.close();
      assert.equal((await answer).rcode, rcodes.SERVFAIL);
      assert.equal(forwarder.inFlight, 0);
      assert.equal((await resolve('www.example.org')).rcode, rcodes.SERVFAIL);
    });
  });

  test('ends attempts that only update statistics', async () => {
    await withForwarder([silent, answers('192.0.2.1')], {}, async ({ resolve, forwarder }) => {
      await resolve('www.example.org');
      assert.ok(forwarder.upstreams.some(({ inFlight }) => inFlight > 0));
      await forwarder.close();
      await until('no query is in flight', () => forwarder.upstreams.every(({ inFlight }) => inFlight === 0));
    });
  });
});

test('refuses names outside all stub zones without default upstreams', async () => {
  const server = await FakeUpstream.start(answers('192.0.2.1'));
  const routes = new Map([['corp.example', [server.endpoint]]]);
  await withForwarder([], { routes }, async ({ resolve }) => {
    assert.equal(addressOf(await resolve('www.corp.example')), '192.0.2.1');
    const { rcode, problem } = await resolve('www.example.org');
    assert.equal(rcode, 5);
    assert.equal(problem?.text, 'no upstream is configured for this name');
  });
  await server[Symbol.asyncDispose]();
});
