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
  trail: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8),
});

/** Much longer than an answer takes on a busy machine. */
const patienceMs = 30_000;

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
    await run({ server, upstream, ask: (name) => upstream.ask(query(name), AbortSignal.timeout(patienceMs)) });
  } finally {
    upstream.close();
  }
}

/** Moves the clock on, second by second, until an answer is there. */
async function askWhile<T>(clock: ManualClock, asked: Promise<T>): Promise<T> {
  let isOver = false;
  const settled = asked.finally(() => (isOver = true));
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    await clock.advance(50);
  }
  return await settled;
}

const rightAnswer = (arrival: Arrival): Answer[] => [{ name: arrival.name, type: 'A', ttl: 60, data: '192.0.2.1' }];
const forgedAnswer = (arrival: Arrival): Answer[] => [{ name: arrival.name, type: 'A', ttl: 60, data: '203.0.113.66' }];

suite('what is not the reply is ignored, and the reply still awaited (CVE-2023-28452)', () => {
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
    { name: 'the question itself', wrong: (arrival) => arrival.send(arrival.bytes) },
    { name: 'three bytes', wrong: (arrival) => arrival.send(Buffer.from([1, 2, 3])) },
    { name: 'nothing', wrong: (arrival) => arrival.send(Buffer.alloc(0)) },
    {
      name: 'an answer cut in half',
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

  test('somebody who guesses makes us ask over TCP', async () => {
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

suite('questions over UDP', () => {
  test('each has an id and a port of its own (CVE-2019-19794)', async () => {
    await withUpstream(answers('192.0.2.1'), {}, async ({ ask, server }) => {
      for (let each = 0; each < 30; each++) await ask(`n${each}.example.org`);
      const distinct = (values: readonly number[]): number => new Set(values).size;
      assert.ok(distinct(server.arrivals.map(({ id }) => id)) >= 29);
      assert.ok(distinct(server.arrivals.map(({ port }) => port)) >= 25);
      const steps = server.arrivals.slice(1).map(({ port }, index) => port - (server.arrivals[index]?.port ?? 0));
      assert.ok(distinct(steps) > 20, 'ports do not count up');
    });
  });

  test('mixed case: the right case is taken, another is not', async () => {
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

  test('mixed case: an upstream that does not keep it is asked over TCP, then in lower case for an hour', async () => {
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

  test('mixed case: a forged reply in lower case does not turn it off', async () => {
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

  test('mixed case: an upstream without TCP that does not keep it is asked again in lower case', async () => {
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

  test('a port where nobody listens is told at once', async () => {
    const closed = await FakeUpstream.start(silent);
    const upstream = new Upstream(closed.endpoint);
    await closed[Symbol.asyncDispose]();
    // The signal would say ABORTED.
    await assert.rejects(upstream.ask(query(), AbortSignal.timeout(patienceMs)), { code: 'NETWORK' });
  });

  test('an address that cannot be reached is an error, not a crash', async () => {
    const upstream = new Upstream({ address: '2001:db8::1', port: 53 });
    await assert.rejects(upstream.ask(query(), AbortSignal.timeout(50)), { code: /NETWORK|ABORTED/ });
  });

  test('silence ends when the signal fires, and leaves no socket', async () => {
    await withUpstream(silent, {}, async ({ upstream }) => {
      await assert.rejects(upstream.ask(query(), AbortSignal.timeout(20)), { code: 'ABORTED' });
      await assert.rejects(upstream.ask(query(), AbortSignal.abort()), { code: 'ABORTED' });
      assert.equal(upstream.inFlight, 0);
    });
  });

  test('no more than so many at once', async () => {
    await withUpstream(silent, { maxConcurrent: 3 }, async ({ upstream }) => {
      const abort = new AbortController();
      const asked = [1, 2, 3].map((each) => upstream.ask(query(`n${each}.example.org`), abort.signal));
      await assert.rejects(upstream.ask(query(), abort.signal), { code: 'BUSY' });
      abort.abort();
      assert.deepEqual(
        (await Promise.allSettled(asked)).map(({ status }) => status),
        ['rejected', 'rejected', 'rejected'],
      );
    });
  });

  test('an upstream that does not know EDNS is asked without, and so from then on', async () => {
    const [old, plain] = [answersCode(1), answers('192.0.2.1')];
    const behaviour: Behaviour = (arrival, server) =>
      ((arrival.packet.additionals?.length ?? 0) > 0 ? old : plain)(arrival, server);
    await withUpstream(behaviour, {}, async ({ ask, server }) => {
      assert.deepEqual(addressesIn(await ask()), ['192.0.2.1']);
      assert.deepEqual(addressesIn(await ask()), ['192.0.2.1']);
      assert.equal(server.arrivals.length, 3);
    });
  });

  test('SERVFAIL is an answer here; who asks decides', async () => {
    await withUpstream(answersCode(2), {}, async ({ ask }) => assert.equal(rcodeOf(await ask()), 2));
  });
});

suite('questions over TCP', () => {
  const truncating: Behaviour = (arrival) =>
    arrival.via === 'udp'
      ? arrival.send(reply(arrival, [], { flags: TRUNCATED_RESPONSE }))
      : arrival.send(reply(arrival, rightAnswer(arrival)));

  test('a truncated reply is asked for again, over one connection for many questions', async () => {
    await withUpstream(truncating, {}, async ({ ask, server, upstream }) => {
      const names = Array.from({ length: 40 }, (_, index) => `n${index}.example.org`);
      for (const message of await Promise.all(names.map((name) => ask(name)))) {
        assert.deepEqual(addressesIn(message), ['192.0.2.1']);
      }
      assert.equal(server.connections, 1);
      assert.deepEqual(upstream.counts.connections, { reused: 39, opened: 1 });
    });
  });

  test('a truncated reply that breaks off in a record is one too', async () => {
    const behaviour: Behaviour = (arrival, server) =>
      arrival.via === 'tcp'
        ? truncating(arrival, server)
        : arrival.send(reply(arrival, rightAnswer(arrival), { flags: TRUNCATED_RESPONSE }).subarray(0, -5));
    await withUpstream(behaviour, {}, async ({ ask }) => assert.deepEqual(addressesIn(await ask()), ['192.0.2.1']));
  });

  test('an answer that comes byte by byte is put together', async () => {
    await withUpstream(truncating, { forceTcp: true }, async ({ ask, server }) => {
      server.pieceBytes = 1;
      const all = await Promise.all([ask('a.example.org'), ask('b.example.org')]);
      assert.deepEqual(all.flatMap(addressesIn), ['192.0.2.1', '192.0.2.1']);
    });
  });

  test('answers in another order find their questions', async () => {
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

  test('an idle connection is closed, and the next question opens one', async () => {
    await withUpstream(truncating, { idleMs: 20 }, async ({ ask, server, upstream }) => {
      await ask();
      await until('it is closed', () => upstream.openConnections === 0);
      await ask();
      assert.equal(server.connections, 2);
    });
  });

  test('connections are bounded, and so are questions on them', async () => {
    await withUpstream(silent, { forceTcp: true, maxConnections: 2 }, async ({ upstream }) => {
      const abort = new AbortController();
      const asked = Array.from({ length: 128 }, (_, index) =>
        upstream.ask(query(`n${index}.example.org`), abort.signal),
      );
      await assert.rejects(upstream.ask(query(), abort.signal), { code: 'BUSY' });
      assert.equal(upstream.openConnections, 2);
      abort.abort();
      await Promise.allSettled(asked);
    });
  });

  test('a connection that went silent is not used again', async () => {
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
      name: 'an answer to another question',
      behaviour: (arrival) => arrival.send(reply(arrival, [], { questions: [{ name: 'example.net', type: 'A' }] })),
    },
    {
      name: 'an answer that is cut short',
      behaviour: (arrival) => arrival.send(reply(arrival, [], { flags: TRUNCATED_RESPONSE })),
    },
  ];
  for (const { name, behaviour } of broken) {
    test(`${name} fails the question`, async () => {
      await withUpstream(behaviour, { forceTcp: true }, async ({ upstream }) => {
        await assert.rejects(upstream.ask(query(), AbortSignal.timeout(50)), { code: /NETWORK|ABORTED/ });
      });
    });
  }
});
