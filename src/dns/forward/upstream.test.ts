import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Answer } from 'dns-packet';
import { TRUNCATED_RESPONSE } from 'dns-packet';

import { ManualClock } from '../../client/testing/clocks.ts';
import { until } from '../../server/testing/until.ts';
import { types } from '../../dnswire/codes.ts';
import type { Message } from '../../dnswire/message.ts';
import { rcodeOf } from '../../dnswire/message.ts';
import type { UpstreamQuery } from './query.ts';
import type { Arrival, Behaviour } from './testing/fake-upstream.ts';
import { answers, answersCode, FakeUpstream, reply, silent } from './testing/fake-upstream.ts';
import type { UpstreamOptions } from './upstream.ts';
import { Upstream } from './upstream.ts';

const query = (name = 'example.org', type: number = types.A): UpstreamQuery => ({
  question: { name, type, class: 1 },
  dnssecOk: false,
  checkingDisabled: false,
  hops: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8),
});

/** Much longer than an answer on a busy machine. */
const deadlineMs = 30_000;

const addressesIn = (message: Message): readonly string[] => message.answers.map(({ data }) => data.join('.'));

interface Given {
  readonly server: FakeUpstream;
  readonly upstream: Upstream;
  readonly ask: (name?: string) => Promise<Message>;
}

async function withUpstream(
  behaviour: Behaviour,
  options: UpstreamOptions,
  run: (given: Given) => Promise<void>,
): Promise<void> {
  await using server = await FakeUpstream.start(behaviour);
  const upstream = new Upstream(server.endpoint, options);
  try {
    await run({ server, upstream, ask: (name) => upstream.ask(query(name), AbortSignal.timeout(deadlineMs)) });
  } finally {
    upstream.close();
  }
}

/** Advances the clock by seconds until an answer arrives. */
async function askWhile<T>(clock: ManualClock, queries: Promise<T>): Promise<T> {
  let isOver = false;
  const settled = queries.finally(() => (isOver = true));
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    await clock.advance(50);
  }
  return await settled;
}

const rightAnswer = (arrival: Arrival): Answer[] => [{ name: arrival.name, type: 'A', ttl: 60, data: '192.0.2.1' }];
const forgedAnswer = (arrival: Arrival): Answer[] => [{ name: arrival.name, type: 'A', ttl: 60, data: '203.0.113.66' }];

suite('ignores messages that are not the reply (CVE-2023-28452)', () => {
  const table: readonly { name: string; wrong: (arrival: Arrival) => void }[] = [
    {
      name: 'another id',
      wrong: (arrival) => arrival.send(reply(arrival, forgedAnswer(arrival), { id: arrival.id ^ 1 })),
    },
    {
      name: 'another name',
      wrong: (arrival) =>
        arrival.send(reply(arrival, forgedAnswer(arrival), { questions: [{ name: 'example.net', type: 'A' }] })),
    },
    {
      name: 'another type',
      wrong: (arrival) =>
        arrival.send(reply(arrival, forgedAnswer(arrival), { questions: [{ name: arrival.name, type: 'AAAA' }] })),
    },
    { name: 'no question', wrong: (arrival) => arrival.send(reply(arrival, forgedAnswer(arrival), { questions: [] })) },
    { name: 'another port', wrong: (arrival) => arrival.forge(reply(arrival, forgedAnswer(arrival))) },
    { name: 'the query itself', wrong: (arrival) => arrival.send(arrival.bytes) },
    { name: 'three bytes', wrong: (arrival) => arrival.send(Buffer.from([1, 2, 3])) },
    { name: 'an empty datagram', wrong: (arrival) => arrival.send(Buffer.alloc(0)) },
    {
      name: 'half an answer',
      wrong: (arrival) => arrival.send(reply(arrival, forgedAnswer(arrival)).subarray(0, -3)),
    },
  ];
  for (const { name, wrong } of table) {
    test(name, async () => {
      const behaviour: Behaviour = (arrival) => {
        wrong(arrival);
        setTimeout(() => arrival.send(reply(arrival, rightAnswer(arrival))), 20);
      };
      await withUpstream(behaviour, {}, async ({ ask }) => {
        assert.deepEqual(addressesIn(await ask()), ['192.0.2.1']);
      });
    });
  }

  test('uses TCP after many wrong replies', async () => {
    const behaviour: Behaviour = (arrival) => {
      if (arrival.via === 'tcp') return arrival.send(reply(arrival, rightAnswer(arrival)));
      for (let guess = 1; guess <= 20; guess++) {
        arrival.send(reply(arrival, forgedAnswer(arrival), { id: (arrival.id + guess) & 0xffff }));
      }
    };
    await withUpstream(behaviour, {}, async ({ ask, upstream }) => {
      assert.deepEqual(addressesIn(await ask()), ['192.0.2.1']);
      assert.ok(upstream.counts.wrongReplies >= 16);
    });
  });
});

suite('queries over UDP', () => {
  test('use a random id and port (CVE-2019-19794)', async () => {
    await withUpstream(answers('192.0.2.1'), {}, async ({ ask, server }) => {
      for (let each = 0; each < 30; each++) await ask(`n${each}.example.org`);
      const distinct = (values: readonly number[]): number => new Set(values).size;
      assert.ok(distinct(server.arrivals.map(({ id }) => id)) >= 29);
      assert.ok(distinct(server.arrivals.map(({ port }) => port)) >= 25);
      const steps = server.arrivals.slice(1).map(({ port }, index) => port - (server.arrivals[index]?.port ?? 0));
      assert.ok(distinct(steps) > 20, 'ports do not count up');
    });
  });

  test('mixed case: accepts only replies in the same case', async () => {
    const behaviour: Behaviour = (arrival) => {
      const lower = arrival.name.toLowerCase();
      arrival.send(reply(arrival, forgedAnswer(arrival), { questions: [{ name: lower, type: 'A' }] }));
      setTimeout(() => arrival.send(reply(arrival, rightAnswer(arrival))), 20);
    };
    await withUpstream(behaviour, { mixCase: true }, async ({ ask, server }) => {
      const name = 'a-name-with-many-letters-to-be-mixed.example.org';
      assert.deepEqual(addressesIn(await ask(name)), ['192.0.2.1']);
      assert.notEqual(server.arrivals[0]?.name, name);
      assert.equal(server.arrivals[0]?.name.toLowerCase(), name);
    });
  });

  const lowerCase = (arrival: Arrival): Uint8Array =>
    reply(arrival, rightAnswer(arrival), { questions: [{ name: arrival.name.toLowerCase(), type: 'A' }] });
  const mixedName = 'a-name-with-many-letters-to-be-mixed.example.org';
  const isMixed = (name: string): boolean => name !== mixedName;

  test('mixed case: uses TCP, then lower case for an hour, if an upstream does not keep the case', async () => {
    const clock = new ManualClock();
    const behaviour: Behaviour = (arrival) => {
      arrival.send(lowerCase(arrival));
    };
    await withUpstream(behaviour, { clock }, async ({ ask, server }) => {
      const shown = (): readonly string[] => server.arrivals.map(({ via, name }) => `${via} ${isMixed(name)}`);
      assert.deepEqual(addressesIn(await askWhile(clock, ask(mixedName))), ['192.0.2.1']);
      assert.deepEqual(shown(), ['udp true', 'tcp true']);
      assert.deepEqual(addressesIn(await ask(mixedName)), ['192.0.2.1']);
      assert.deepEqual(shown().slice(2), ['udp false']);
      await clock.advance(3_600_000);
      assert.deepEqual(addressesIn(await askWhile(clock, ask(mixedName))), ['192.0.2.1']);
      assert.deepEqual(shown().slice(3), ['udp true', 'tcp true']);
    });
  });

  test('mixed case: a forged reply in lower case does not disable it', async () => {
    const clock = new ManualClock();
    const behaviour: Behaviour = (arrival) => {
      const forged = reply(arrival, forgedAnswer(arrival), {
        questions: [{ name: arrival.name.toLowerCase(), type: 'A' }],
      });
      arrival.send(arrival.via === 'udp' ? forged : reply(arrival, rightAnswer(arrival)));
    };
    await withUpstream(behaviour, { clock }, async ({ ask, server }) => {
      for (let each = 0; each < 3; each++) {
        assert.deepEqual(addressesIn(await askWhile(clock, ask(mixedName))), ['192.0.2.1']);
      }
      assert.ok(server.arrivals.every(({ name }) => isMixed(name)));
    });
  });

  test('mixed case: repeats in lower case without TCP', async () => {
    const clock = new ManualClock();
    const behaviour: Behaviour = (arrival) => {
      if (arrival.via === 'tcp') return arrival.send(Buffer.alloc(0));
      arrival.send(lowerCase(arrival));
    };
    await withUpstream(behaviour, { clock }, async ({ ask, server }) => {
      assert.deepEqual(addressesIn(await askWhile(clock, ask(mixedName))), ['192.0.2.1']);
      assert.deepEqual(
        server.arrivals.filter(({ via }) => via === 'udp').map(({ name }) => isMixed(name)),
        [true, false],
      );
    });
  });

  test('reject at once if the port is closed', async () => {
    const closed = await FakeUpstream.start(silent);
    const upstream = new Upstream(closed.endpoint);
    await closed[Symbol.asyncDispose]();
    // Not ABORTED, which the signal causes.
    await assert.rejects(upstream.ask(query(), AbortSignal.timeout(deadlineMs)), { code: 'NETWORK' });
  });

  test('reject if the address is unreachable', async () => {
    const upstream = new Upstream({ address: '2001:db8::1', port: 53 });
    await assert.rejects(upstream.ask(query(), AbortSignal.timeout(50)), { code: /NETWORK|ABORTED/ });
  });

  test('close their socket when the signal fires', async () => {
    await withUpstream(silent, {}, async ({ upstream }) => {
      await assert.rejects(upstream.ask(query(), AbortSignal.timeout(20)), { code: 'ABORTED' });
      await assert.rejects(upstream.ask(query(), AbortSignal.abort()), { code: 'ABORTED' });
      assert.equal(upstream.inFlight, 0);
    });
  });

  test('are bounded', async () => {
    await withUpstream(silent, { maxConcurrent: 3 }, async ({ upstream }) => {
      const abort = new AbortController();
      const queries = [1, 2, 3].map((each) => upstream.ask(query(`n${each}.example.org`), abort.signal));
      await assert.rejects(upstream.ask(query(), abort.signal), { code: 'BUSY' });
      abort.abort();
      assert.deepEqual(
        (await Promise.allSettled(queries)).map(({ status }) => status),
        ['rejected', 'rejected', 'rejected'],
      );
    });
  });

  test('omit EDNS for an upstream without EDNS support', async () => {
    const [old, plain] = [answersCode(1), answers('192.0.2.1')];
    const behaviour: Behaviour = (arrival, server) =>
      ((arrival.packet.additionals?.length ?? 0) > 0 ? old : plain)(arrival, server);
    await withUpstream(behaviour, {}, async ({ ask, server }) => {
      assert.deepEqual(addressesIn(await ask()), ['192.0.2.1']);
      assert.deepEqual(addressesIn(await ask()), ['192.0.2.1']);
      assert.equal(server.arrivals.length, 3);
    });
  });

  test('resolve to SERVFAIL', async () => {
    await withUpstream(answersCode(2), {}, async ({ ask }) => assert.equal(rcodeOf(await ask()), 2));
  });
});

suite('queries over TCP', () => {
  const truncating: Behaviour = (arrival) =>
    arrival.via === 'udp'
      ? arrival.send(reply(arrival, [], { flags: TRUNCATED_RESPONSE }))
      : arrival.send(reply(arrival, rightAnswer(arrival)));

  test('repeat truncated queries on one connection', async () => {
    await withUpstream(truncating, {}, async ({ ask, server, upstream }) => {
      const names = Array.from({ length: 40 }, (_, index) => `n${index}.example.org`);
      for (const message of await Promise.all(names.map((name) => ask(name)))) {
        assert.deepEqual(addressesIn(message), ['192.0.2.1']);
      }
      assert.equal(server.connections, 1);
      assert.deepEqual(upstream.counts.connections, { reused: 39, opened: 1 });
    });
  });

  test('repeat queries with an incomplete truncated reply', async () => {
    const behaviour: Behaviour = (arrival, server) =>
      arrival.via === 'tcp'
        ? truncating(arrival, server)
        : arrival.send(reply(arrival, rightAnswer(arrival), { flags: TRUNCATED_RESPONSE }).subarray(0, -5));
    await withUpstream(behaviour, {}, async ({ ask }) => assert.deepEqual(addressesIn(await ask()), ['192.0.2.1']));
  });

  test('accept an answer byte by byte', async () => {
    await withUpstream(truncating, { forceTcp: true }, async ({ ask, server }) => {
      server.pieceBytes = 1;
      const all = await Promise.all([ask('a.example.org'), ask('b.example.org')]);
      assert.deepEqual(all.flatMap(addressesIn), ['192.0.2.1', '192.0.2.1']);
    });
  });

  test('accept answers in any order', async () => {
    const held: Arrival[] = [];
    const behaviour: Behaviour = (arrival) => {
      held.push(arrival);
      if (held.length < 5) return;
      for (const each of held.toReversed()) {
        each.send(reply(each, [{ name: each.name, type: 'A', ttl: 1, data: `192.0.2.${each.name.slice(1, 2)}` }]));
      }
    };
    await withUpstream(behaviour, { forceTcp: true }, async ({ ask }) => {
      const all = await Promise.all([0, 1, 2, 3, 4].map((index) => ask(`n${index}.example.org`)));
      assert.deepEqual(all.flatMap(addressesIn), ['192.0.2.0', '192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4']);
    });
  });

  test('close an idle connection and open another', async () => {
    await withUpstream(truncating, { idleMs: 20 }, async ({ ask, server, upstream }) => {
      await ask();
      await until('it is closed', () => upstream.openConnections === 0);
      await ask();
      assert.equal(server.connections, 2);
    });
  });

  test('bound connections and queries per connection', async () => {
    await withUpstream(silent, { forceTcp: true, maxConnections: 2 }, async ({ upstream }) => {
      const abort = new AbortController();
      const queries = Array.from({ length: 128 }, (_, index) =>
        upstream.ask(query(`n${index}.example.org`), abort.signal),
      );
      await assert.rejects(upstream.ask(query(), abort.signal), { code: 'BUSY' });
      assert.equal(upstream.openConnections, 2);
      abort.abort();
      await Promise.allSettled(queries);
    });
  });

  test('do not reuse a silent connection', async () => {
    let isSilent = true;
    const behaviour: Behaviour = (arrival, server) => (isSilent ? undefined : truncating(arrival, server));
    await withUpstream(behaviour, { forceTcp: true }, async ({ ask, server, upstream }) => {
      await assert.rejects(upstream.ask(query(), AbortSignal.timeout(50)), { code: 'ABORTED' });
      isSilent = false;
      assert.deepEqual(addressesIn(await ask()), ['192.0.2.1']);
      assert.equal(server.connections, 2);
    });
  });

  const broken: readonly { name: string; behaviour: Behaviour }[] = [
    { name: 'garbage', behaviour: (arrival) => arrival.send(Buffer.from('GET / HTTP/1.1')) },
    {
      name: 'a reply to another question',
      behaviour: (arrival) => arrival.send(reply(arrival, [], { questions: [{ name: 'example.net', type: 'A' }] })),
    },
    {
      name: 'a truncated answer',
      behaviour: (arrival) => arrival.send(reply(arrival, [], { flags: TRUNCATED_RESPONSE })),
    },
  ];
  for (const { name, behaviour } of broken) {
    test(`reject after ${name}`, async () => {
      await withUpstream(behaviour, { forceTcp: true }, async ({ upstream }) => {
        await assert.rejects(upstream.ask(query(), AbortSignal.timeout(50)), { code: /NETWORK|ABORTED/ });
      });
    });
  }
});
