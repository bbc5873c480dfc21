import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { Registry } from 'prom-client';

import { until } from '../../server/testing/until.ts';
import type { Clock } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import { ManualClock } from '../../client/testing/clocks.ts';
import { optionCodes, rcodes, types } from '../../dnswire/codes.ts';
import { readMessage } from '../../dnswire/message.ts';
import { isDown } from './choose.ts';
import { ForwardCounters } from './counters.ts';
import { RecursionPolicy } from './policy.ts';
import type { ForwarderOptions } from './forwarder.ts';
import { Forwarder } from './forwarder.ts';
import { forwardMetrics } from './metrics.ts';
import type { Behaviour } from './testing/fake-upstream.ts';
import { answers, answersCode, FakeUpstream, loses, reply, silent, slow } from './testing/fake-upstream.ts';
import type { ResolveOptions, UpstreamAnswer } from '../resolver.ts';

/** The system clock with an adjustable offset. */
class SkippingClock implements Clock {
  #skipped = 0;
  now = (): number => Date.now() + this.#skipped;
  elapsed = (): number => performance.now() + this.#skipped;
  after = (ms: number, run: () => void): (() => void) => systemClock.after(ms, run);
  resumedAt = (): number => 0;
  skip(ms: number): void {
    this.#skipped += ms;
  }
}

interface Given {
  readonly servers: readonly FakeUpstream[];
  readonly forwarder: Forwarder;
  readonly ask: (name: string, more?: Partial<ResolveOptions>) => Promise<UpstreamAnswer>;
}

const inTimeOf =
  <C extends NonNullable<ForwarderOptions['clock']>>(makeClock: () => C) =>
  (
    behaviours: readonly Behaviour[],
    options: Partial<ForwarderOptions>,
    run: (given: Given & { readonly clock: C }) => Promise<void>,
  ): Promise<void> => {
    const clock = makeClock();
    return withClock(behaviours, { ...options, clock }, (given) => run({ ...given, clock }));
  };

/** A manual clock, so that a busy machine causes no repeated queries. */
const withForwarder = inTimeOf(() => new ManualClock());

/** The system clock. */
const inRealTime = inTimeOf(() => new SkippingClock());

async function withClock(
  behaviours: readonly Behaviour[],
  options: Partial<ForwarderOptions>,
  run: (given: Given) => Promise<void>,
): Promise<void> {
  const servers = await Promise.all(behaviours.map((behaviour) => FakeUpstream.start(behaviour)));
  const upstreams = servers.map(({ endpoint }) => endpoint);
  const forwarder = new Forwarder({ upstreams, ...options });
  const ask: Given['ask'] = (name, more) =>
    forwarder.resolve({ name, type: types.A, class: 1 }, { dnssecOk: false, checkingDisabled: false, ...more });
  try {
    await run({ servers, forwarder, ask });
  } finally {
    await forwarder.close();
    for (const server of servers) await server[Symbol.asyncDispose]();
  }
}

const addressOf = (answer: UpstreamAnswer): string | undefined => answer.answers.at(-1)?.data.join('.');
const client = (address: string): Partial<ResolveOptions> => ({ client: { address, port: 4000, protocol: 'udp' } });

suite('one query for many clients', () => {
  test('sends one query for a hundred concurrent clients (CVE-2023-30464)', async () => {
    await withForwarder([slow(30, answers('192.0.2.1'))], {}, async ({ ask, servers, forwarder }) => {
      const all = await Promise.all(Array.from({ length: 100 }, () => ask('www.example.org')));
      assert.deepEqual(new Set(all.map(addressOf)), new Set(['192.0.2.1']));
      assert.equal(servers[0]?.asked('www.example.org').length, 1);
      assert.equal(forwarder.counters.coalesced, 99);
    });
  });

  test('answers from the cache until the TTL expires', async () => {
    await withForwarder([answers('192.0.2.1', 60)], {}, async ({ ask, servers, clock }) => {
      await ask('www.example.org');
      await clock.advance(20_000);
      const cached = await ask('www.example.org');
      assert.ok((cached.answers[0]?.ttl ?? 0) <= 40);
      await clock.advance(41_000);
      assert.equal((await ask('www.example.org')).answers[0]?.ttl, 60);
      assert.equal(servers[0]?.asked('www.example.org').length, 2);
    });
  });

  test('sends each of many concurrent queries once', async () => {
    const asked = fc.array(fc.record({ name: fc.nat(5), host: fc.nat(9) }), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(asked, async (questions) => {
        await withForwarder([slow(5, answers('192.0.2.1'))], {}, async ({ ask, servers }) => {
          const all = questions.map(({ name, host }) => ask(`n${name}.example.org`, client(`10.0.0.${host}`)));
          assert.ok((await Promise.all(all)).every((answer) => addressOf(answer) === '192.0.2.1'));
          for (const name of new Set(questions.map((question) => `n${question.name}.example.org`))) {
            assert.equal(servers[0]?.asked(name).length, 1);
          }
        });
      }),
      { numRuns: 20 },
    );
  });

  test('sends queries with other types, DO or CD separately', async () => {
    await withForwarder([answers('192.0.2.1')], {}, async ({ ask, servers }) => {
      await Promise.all([
        ask('www.example.org'),
        ask('www.example.org', { dnssecOk: true }),
        ask('www.example.org', { checkingDisabled: true }),
      ]);
      assert.equal(servers[0]?.asked('www.example.org').length, 3);
    });
  });

  test('refreshes a popular answer once before it expires', async () => {
    await withForwarder([answers('192.0.2.1', 100)], {}, async ({ ask, servers, clock, forwarder }) => {
      for (let each = 0; each < 4; each++) await ask('www.example.org');
      await clock.advance(97_000);
      const all = await Promise.all(Array.from({ length: 20 }, () => ask('www.example.org')));
      assert.ok(all.every((answer) => answer.stale === undefined));
      await until('the query is repeated', () => servers[0]?.asked('www.example.org').length === 2);
      assert.equal(forwarder.counters.cache.prefetches, 1);
    });
  });

  test('queries a purged name again', async () => {
    await withForwarder([answers('192.0.2.1')], {}, async ({ ask, servers, forwarder }) => {
      await ask('www.example.org');
      assert.equal(forwarder.purge('example.org'), 1);
      await ask('www.example.org');
      assert.equal(servers[0]?.asked('www.example.org').length, 2);
    });
  });
});

suite('no stalls, over real sockets', () => {
  /** Clients time out after five seconds; race.test.ts tests exact times with a manual clock. */
  const patienceMs = 5000;
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
      await inRealTime([first, answers('192.0.2.1')], {}, async ({ ask }) => {
        const times: number[] = [];
        for (let each = 0; each < 40; each++) {
          const start = performance.now();
          assert.equal((await ask(`n${each}.example.org`)).rcode, rcodes.NOERROR);
          times.push(performance.now() - start);
        }
        const sorted = times.toSorted((a, b) => a - b);
        assert.ok((sorted[20] ?? 0) < patienceMs / 5, `the median is ${sorted[20]} ms`);
        assert.ok((sorted[39] ?? 0) < patienceMs, `the longest took ${sorted[39]} ms`);
      });
    });
  }

  test('repeats queries to an only upstream that loses half', async () => {
    await inRealTime([loses(2, answers('192.0.2.1'))], {}, async ({ ask }) => {
      for (let each = 0; each < 6; each++) {
        const start = performance.now();
        assert.equal(addressOf(await ask(`n${each}.example.org`)), '192.0.2.1');
        assert.ok(performance.now() - start < patienceMs);
      }
    });
  });

  test('uses an upstream again soon after it is up', async () => {
    await inRealTime([silent, slow(40, answers('192.0.2.2'))], {}, async ({ ask, servers, forwarder, clock }) => {
      const [first] = forwarder.upstreams;
      for (let each = 0; first !== undefined && !isDown(first.health); each++) {
        await ask(`n${each}.example.org`);
        clock.skip(1000);
        await new Promise((resolve) => setTimeout(resolve, 100));
        assert.ok(each < 60, 'it is seen to be down');
      }
      for (const server of servers.slice(0, 1)) server.behaviour = answers('192.0.2.1');
      clock.skip(40_000);
      await ask('probe.example.org');
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
        await inRealTime([...behaviours, ...good], hasGood ? {} : { deadlineMs: 500 }, async ({ ask }) => {
          const start = performance.now();
          const all = await Promise.all([ask('a.example.org'), ask('b.example.org'), ask('c.example.org')]);
          assert.ok(performance.now() - start < patienceMs, `${performance.now() - start} ms`);
          if (hasGood) assert.ok(all.every((answer) => addressOf(answer) === '192.0.2.1'));
          else assert.ok(all.every(({ rcode }) => [0, 2, 5].includes(rcode)));
        });
      }),
      { numRuns: 6 },
    );
  });

  test('returns and caches SERVFAIL with the reason if all upstreams fail (RFC 9520)', async () => {
    await withForwarder([answersCode(2), answersCode(2)], {}, async ({ ask, servers }) => {
      const answer = await ask('www.example.org');
      assert.equal(answer.rcode, rcodes.SERVFAIL);
      assert.match(answer.problem?.text ?? '', /127\.0\.0\.1:\d+ answered SERVFAIL/);
      assert.equal((await ask('www.example.org')).rcode, rcodes.SERVFAIL);
      assert.deepEqual(
        servers.map((server) => server.asked('www.example.org').length),
        [1, 1],
      );
    });
  });

  test('returns SERVFAIL before clients time out if all upstreams are dead', async () => {
    await inRealTime([silent], { deadlineMs: 300 }, async ({ ask }) => {
      const start = performance.now();
      const answer = await ask('www.example.org');
      assert.equal(answer.rcode, rcodes.SERVFAIL);
      assert.ok(performance.now() - start < patienceMs);
    });
  });
});

suite('stale answers (RFC 8767)', () => {
  test('are returned after a delay if the upstream is dead, then at once', async () => {
    await withForwarder(
      [answers('192.0.2.1', 5)],
      { staleAfterMs: 50, deadlineMs: 200 },
      async ({ ask, servers, clock, forwarder }) => {
        await ask('www.example.org');
        for (const server of servers) server.behaviour = silent;
        await clock.advance(10_000);
        const waiting = ask('www.example.org');
        await clock.advance(50);
        const first = await waiting;
        assert.equal(first.stale, true);
        assert.equal(first.answers[0]?.ttl, 30);
        await clock.advance(150);
        await until('no query is in flight', () => forwarder.inFlight === 0);
        const asked = servers[0]?.asked('www.example.org').length;
        assert.equal((await ask('www.example.org')).stale, true, 'without any time going by');
        assert.equal(servers[0]?.asked('www.example.org').length, asked, 'upstreams are left alone for 30 s');
        assert.equal(forwarder.counters.cache.servedStale, 2);
      },
    );
  });

  test('are returned at once if the upstream returns SERVFAIL', async () => {
    await withForwarder([answers('192.0.2.1', 5)], {}, async ({ ask, servers, clock }) => {
      await ask('www.example.org');
      for (const server of servers) server.behaviour = answersCode(2);
      await clock.advance(10_000);
      const answer = await ask('www.example.org');
      assert.equal(answer.stale, true);
      assert.equal(addressOf(answer), '192.0.2.1');
    });
  });

  test('are not returned if the upstream answers or returns NXDOMAIN', async () => {
    await withForwarder([answers('192.0.2.1', 5)], {}, async ({ ask, servers, clock }) => {
      await ask('www.example.org');
      for (const server of servers) server.behaviour = answersCode(3);
      await clock.advance(10_000);
      assert.equal((await ask('www.example.org')).rcode, rcodes.NXDOMAIN);
      for (const server of servers) server.behaviour = answersCode(2);
      assert.equal((await ask('www.example.org')).rcode, rcodes.SERVFAIL, 'a denied name does not come back');
    });
  });
});

suite('limits', () => {
  test('refuses clients that may not recurse without any query', async () => {
    const policy = new RecursionPolicy({ allow: ['10.0.0.0/8'] });
    await withForwarder([answers('192.0.2.1')], { policy }, async ({ ask, servers }) => {
      const answer = await ask('www.example.org', client('203.0.113.7'));
      assert.equal(answer.rcode, rcodes.REFUSED);
      assert.match(answer.problem?.text ?? '', /203\.0\.113\.7 may not/);
      assert.equal((await ask('www.example.org', client('10.1.2.3'))).rcode, rcodes.NOERROR);
      assert.equal((await ask('www.example.org', client('203.0.113.7'))).rcode, rcodes.REFUSED, 'nor from the cache');
      assert.equal(servers[0]?.asked('www.example.org').length, 1);
    });
  });

  test('refuses a client above its rate, and no others', async () => {
    const policy = new RecursionPolicy({ allow: ['10.0.0.0/8'], perSecond: 5, clock: new ManualClock() });
    await withForwarder([answers('192.0.2.1')], { policy }, async ({ ask }) => {
      const codes = new Set<number>();
      for (let each = 0; each < 10; each++) codes.add((await ask(`n${each}.example.org`, client('10.0.0.1'))).rcode);
      assert.deepEqual([...codes], [rcodes.NOERROR, rcodes.REFUSED]);
      assert.equal(
        (await ask('n0.example.org', client('10.0.0.1'))).rcode,
        rcodes.NOERROR,
        'what is cached costs nothing',
      );
      assert.equal((await ask('n9.example.org', client('10.0.0.2'))).rcode, rcodes.NOERROR);
    });
  });

  test('limits queries per client, in total, and at upstreams', async () => {
    const options = { maxWaitingPerClient: 2, maxWaiting: 4, maxInFlight: 3, deadlineMs: 150 };
    await withForwarder([silent], options, async ({ ask, forwarder, clock }) => {
      const waiting = [ask('www.a.example', client('10.0.0.1')), ask('www.b.example', client('10.0.0.1'))];
      assert.equal((await ask('www.c.example', client('10.0.0.1'))).rcode, rcodes.REFUSED);
      waiting.push(ask('www.c.example', client('10.0.0.2')));
      const tooMany = await ask('www.d.example', client('10.0.0.2'));
      assert.equal(tooMany.rcode, rcodes.SERVFAIL);
      waiting.push(ask('www.a.example', client('10.0.0.2')));
      assert.equal((await ask('www.a.example', client('10.0.0.3'))).rcode, rcodes.SERVFAIL);
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
      assert.equal((await ask('www.a.example', client('10.0.0.3'))).rcode, rcodes.SERVFAIL, 'there is room again');
      assert.equal(forwarder.counters.refused.overload, 2);
    });
  });

  test('a flood of random names below one domain leaves capacity for others', async () => {
    const behaviour: Behaviour = (arrival, server) =>
      arrival.name.toLowerCase().endsWith('victim.example') ? undefined : answers('192.0.2.1')(arrival, server);
    await withForwarder([behaviour], { maxInFlight: 40, deadlineMs: 1000 }, async ({ ask, forwarder, clock }) => {
      const flood = Array.from({ length: 200 }, (_, each) =>
        ask(`x${each}.victim.example`, client(`10.0.0.${each % 50}`)),
      );
      const others = Array.from({ length: 100 }, (_, each) => ask(`www.n${each}.example`, client('10.0.1.1')));
      // Sequential, since concurrent queries would exceed the limit.
      await Promise.all(others);
      for (let each = 0; each < 50; each++) {
        assert.equal(addressOf(await ask(`www.m${each}.example`, client('10.0.1.1'))), '192.0.2.1');
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

suite('upstreams by zone', () => {
  test('removes private addresses from answers of default upstreams, not of stub zones, and counts them', async () => {
    await using corp = await FakeUpstream.start(answers('10.0.0.7'));
    const routes = new Map([['corp.example', [corp.endpoint]]]);
    await withForwarder([answers('10.0.0.8')], { routes, refusePrivate: true }, async ({ ask, forwarder }) => {
      for (const source of ['upstream', 'cache']) {
        const answer = await ask('www.example.org');
        assert.deepEqual([answer.rcode, answer.answers], [rcodes.NOERROR, []], source);
        assert.equal(addressOf(await ask('www.corp.example')), '10.0.0.7', source);
      }
      assert.equal(forwarder.counters.privateAnswers, 2);
    });
    await withForwarder([answers('10.0.0.8')], {}, async ({ ask }) => {
      assert.equal(addressOf(await ask('www.example.org')), '10.0.0.8');
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
    await withForwarder([answers('192.0.2.1')], { routes }, async ({ ask }) => {
      assert.equal(addressOf(await ask('example.org')), '192.0.2.1');
      assert.equal(addressOf(await ask('notcorp.example')), '192.0.2.1');
      assert.equal(addressOf(await ask('corp.example')), '192.0.2.2');
      assert.equal(addressOf(await ask('a.b.corp.example')), '192.0.2.2');
      assert.equal(addressOf(await ask('a.lab.corp.example')), '192.0.2.3');
      assert.match((await ask('a.nowhere.example')).problem?.text ?? '', /there is no upstream/);
    });
  });
});

suite('loops', () => {
  /** Sends queries back to the forwarder, with or without their trail. */
  const asksBack =
    (forwarder: () => Forwarder, keepsOptions: boolean): Behaviour =>
    (arrival) => {
      const message = readMessage(arrival.bytes);
      const [question] = message?.questions ?? [];
      const trail = message?.edns?.options.find(({ code }) => code === optionCodes.TRAIL)?.data;
      if (question === undefined) return;
      const options = keepsOptions && trail !== undefined ? { trail } : {};
      void forwarder()
        .resolve(question, { dnssecOk: false, checkingDisabled: false, ...options })
        .then(({ rcode }) => arrival.send(reply(arrival, [], { rcode })));
    };

  for (const keepsOptions of [true, false]) {
    const how = keepsOptions ? 'by what the question carries' : 'by a probe, where the upstream drops what it carries';
    test(`answers a returning query with SERVFAIL at once, ${how}, and still answers others`, async () => {
      let forwarder: Forwarder | undefined;
      const looping = asksBack(() => forwarder ?? assert.fail('not yet'), keepsOptions);
      await withForwarder([looping], {}, async (given) => {
        forwarder = given.forwarder;
        // The clock does not advance to the deadline.
        const answer = await given.ask('www.example.org');
        assert.equal(answer.rcode, rcodes.SERVFAIL);
        assert.ok(forwarder.counters.loops >= 1);
        const server = given.servers[0];
        if (server !== undefined) server.behaviour = answers('192.0.2.1');
        await given.clock.advance(61_000);
        assert.equal(
          addressOf(await given.ask('other.example.org')),
          '192.0.2.1',
          'an upstream whose loop was removed is used again',
        );
      });
    });
  }

  test('uses another upstream instead of one with a loop', async () => {
    let forwarder: Forwarder | undefined;
    const looping = asksBack(() => forwarder ?? assert.fail('not yet'), false);
    await withForwarder([looping, slow(20, answers('192.0.2.1'))], {}, async (given) => {
      forwarder = given.forwarder;
      for (let each = 0; each < 10; each++)
        assert.equal(addressOf(await given.ask(`n${each}.example.org`)), '192.0.2.1');
    });
  });
});

suite('a reload', () => {
  test('keeps cache and statistics, except for zones with other upstreams', async () => {
    await using corp = await FakeUpstream.start(answers('192.0.2.2'));
    const routes = new Map([['corp.example', [corp.endpoint]]]);
    await withForwarder([answers('192.0.2.1')], {}, async ({ ask, servers, forwarder, clock }) => {
      await ask('www.example.org');
      await ask('a.corp.example');
      const upstreams = servers.map(({ endpoint }) => endpoint);
      const next = new Forwarder({ upstreams, routes, clock, previous: forwarder });
      const options = { dnssecOk: false, checkingDisabled: false };
      const first = await next.resolve({ name: 'www.example.org', type: types.A, class: 1 }, options);
      assert.equal(addressOf(first), '192.0.2.1');
      assert.equal(servers[0]?.asked('www.example.org').length, 1);
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

test('does not cache the limit of an upstream as a failure', async () => {
  await withForwarder(
    [slow(60, answers('192.0.2.1'))],
    { upstream: { maxConcurrent: 2 } },
    async ({ ask, forwarder }) => {
      // One of the two is a loop probe.
      const first = ask('a.example.org');
      const second = await ask('b.example.org');
      assert.equal(second.rcode, rcodes.SERVFAIL);
      assert.match(second.problem?.text ?? '', /has 2 queries in flight/);
      assert.equal(addressOf(await first), '192.0.2.1');
      await until('no query is in flight', () => forwarder.upstreams.every(({ inFlight }) => inFlight === 0));
      assert.equal(addressOf(await ask('b.example.org')), '192.0.2.1');
    },
  );
});

suite('close', () => {
  test('answers queries in flight with SERVFAIL, and releases all resources', async () => {
    await withForwarder([silent], {}, async ({ ask, forwarder }) => {
      const answer = ask('www.example.org');
      await forwarder.close();
      assert.equal((await answer).rcode, rcodes.SERVFAIL);
      assert.equal(forwarder.inFlight, 0);
      assert.equal((await ask('www.example.org')).rcode, rcodes.SERVFAIL);
    });
  });

  test('ends attempts that only update statistics', async () => {
    await withForwarder([silent, answers('192.0.2.1')], {}, async ({ ask, forwarder }) => {
      await ask('www.example.org');
      assert.ok(forwarder.upstreams.some(({ inFlight }) => inFlight > 0));
      await forwarder.close();
      await until('no query is in flight', () => forwarder.upstreams.every(({ inFlight }) => inFlight === 0));
    });
  });
});

test('the README lists exactly the metrics', async () => {
  const registry = new Registry();
  const zero = { success: 0, denial: 0 };
  forwardMetrics({ registry, counters: new ForwardCounters(), server: '', cacheSize: () => zero, inFlight: () => 0 });
  const registered = (await registry.getMetricsAsJSON()).map(({ name }) => name);
  const page = readFileSync(new URL('README.md', import.meta.url), 'utf8');
  const written = Array.from(page.matchAll(/`((?:coredns|fairlead)_\w+)`/g), ([, name = '']) => name);
  assert.deepEqual(written.toSorted(), registered.toSorted());
});

test("metrics have CoreDNS' names and exist before the first query", async () => {
  await withForwarder([answers('192.0.2.1')], {}, async ({ ask, forwarder, servers }) => {
    const registry = new Registry();
    const { counters } = forwarder;
    const server = 'dns://:53';
    forwardMetrics({
      registry,
      counters,
      server,
      cacheSize: () => forwarder.cacheSize,
      inFlight: () => forwarder.inFlight,
    });
    assert.match(await registry.metrics(), /coredns_forward_max_concurrent_rejects_total 0/);
    await ask('www.example.org');
    await ask('www.example.org');
    const text = await registry.metrics();
    const to = `127.0.0.1:${servers[0]?.endpoint.port}`;
    for (const line of [
      'coredns_cache_entries{server="dns://:53",zones=".",view="",type="success"} 1',
      'coredns_cache_hits_total{server="dns://:53",zones=".",view="",type="success"} 1',
      'coredns_cache_misses_total{server="dns://:53",zones=".",view=""} 1',
      'coredns_cache_requests_total{server="dns://:53",zones=".",view=""} 2',
      `coredns_proxy_request_duration_seconds_count{proxy_name="forward",to="${to}",rcode="NOERROR"} 1`,
      `coredns_forward_responses_total{to="${to}",rcode="NOERROR"} 1`,
      `coredns_proxy_healthcheck_failures_total{proxy_name="forward",to="${to}"} 0`,
    ]) {
      assert.ok(text.includes(line), `${line}\nis not in\n${text}`);
    }
  });
});

test('refuses names outside all stub zones without default upstreams', async () => {
  const server = await FakeUpstream.start(answers('192.0.2.1'));
  const routes = new Map([['corp.example', [server.endpoint]]]);
  await withForwarder([], { routes }, async ({ ask }) => {
    assert.equal(addressOf(await ask('www.corp.example')), '192.0.2.1');
    const { rcode, problem } = await ask('www.example.org');
    assert.equal(rcode, 5);
    assert.equal(problem?.text, 'no upstream is configured for this name');
  });
  await server[Symbol.asyncDispose]();
});
