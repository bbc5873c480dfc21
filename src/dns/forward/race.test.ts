import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { ManualClock } from '../../client/testing/clocks.ts';
import { flagBits, rcodes } from '../../dnswire/codes.ts';
import type { Message } from '../../dnswire/message.ts';
import type { Health } from './choose.ts';
import { answered, isDown, unknownHealth } from './choose.ts';
import { UpstreamError } from './errors.ts';
import type { UpstreamQuery } from './query.ts';
import type { RaceUpstream, RaceResult } from './race.ts';
import { Race } from './race.ts';

const query: UpstreamQuery = {
  question: { name: 'example.org', type: 1, class: 1 },
  dnssecOk: false,
  checkingDisabled: false,
  hops: new Uint8Array(),
};

const messageWith = (rcode: number): Message => ({
  header: { id: 0, flags: flagBits.QR | rcode, questions: 1, answers: 0, authorities: 0, additionals: 0 },
  questions: [query.question],
  answers: [],
  authority: [],
  additional: [],
});

/** What an upstream does with its n-th question: `20` answers after 20 ms, `20:2` with rcode 2, `-` never, `!5` an error. */
type Script = readonly string[];

class Scripted implements RaceUpstream {
  readonly name: string;
  health: Health = unknownHealth;
  readonly askedAt: number[] = [];
  aborted = 0;
  readonly #clock: ManualClock;
  readonly #script: Script;

  constructor(name: string, script: Script, clock: ManualClock) {
    this.name = name;
    this.#script = script;
    this.#clock = clock;
  }

  ask(_: UpstreamQuery, signal: AbortSignal): Promise<Message> {
    const word = this.#script[this.askedAt.length % this.#script.length] ?? '-';
    this.askedAt.push(this.#clock.elapsed());
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => {
        this.aborted += 1;
        reject(new UpstreamError('ABORTED', 'aborted'));
      });
      if (word === '-') return;
      const [ms = '0', rcode = '0'] = word.replace('!', '').split(':');
      const end = (): void =>
        word.startsWith('!')
          ? reject(new UpstreamError('NETWORK', 'unreachable'))
          : resolve(messageWith(Number(rcode)));
      this.#clock.after(Number(ms), end);
    });
  }
}

interface Outcome {
  readonly result: RaceResult;
  readonly ms: number;
}

async function run(clock: ManualClock, contestants: readonly Scripted[], turn = 0): Promise<Outcome> {
  const start = clock.elapsed();
  const race = new Race(query, contestants, { clock, random: () => 0.5, turn });
  let outcome: Outcome | undefined;
  void race.run().then((result) => (outcome = { result, ms: clock.elapsed() - start }));
  for (let passed = 0; outcome === undefined && passed <= 5000; passed += 5) await clock.advance(5);
  assert.ok(outcome !== undefined, 'a race ends');
  return outcome;
}

/** With known response times of 10, 11 … ms, so that the order is the one given. */
const known = (contestants: readonly Scripted[]): void => {
  for (const [index, contestant] of contestants.entries()) {
    contestant.health = { ...answered(unknownHealth, 10 + 10 * index, 0), askedAt: 0, respondedAt: -1 };
  }
};

suite('Race', () => {
  const table: readonly {
    name: string;
    given: readonly Script[];
    from?: string;
    problem?: RegExp;
    withinMs: number;
    queried: readonly number[];
  }[] = [
    { name: 'queries only a good upstream', given: [['8'], ['8']], from: 'a', withinMs: 10, queried: [1, 0] },
    { name: 'hedges a slow upstream', given: [['400'], ['8']], from: 'b', withinMs: 30, queried: [1, 1] },
    { name: 'waits for the p95 of a dead upstream', given: [['-'], ['8']], from: 'b', withinMs: 30, queried: [1, 1] },
    { name: 'waits for two dead upstreams', given: [['-'], ['-'], ['8']], from: 'c', withinMs: 70, queried: [1, 1, 1] },
    {
      name: 'queries the next at once after SERVFAIL',
      given: [['5:2'], ['5']],
      from: 'b',
      withinMs: 15,
      queried: [1, 1],
    },
    {
      name: 'queries the next at once after REFUSED',
      given: [['5:5'], ['5']],
      from: 'b',
      withinMs: 15,
      queried: [1, 1],
    },
    { name: 'accepts NXDOMAIN', given: [['5:3'], ['5']], from: 'a', withinMs: 10, queried: [1, 0] },
    {
      name: 'queries the next at once after a network error',
      given: [['!1'], ['5']],
      from: 'b',
      withinMs: 15,
      queried: [1, 1],
    },
    { name: 'repeats a query to an only upstream', given: [['-', '8']], from: 'a', withinMs: 170, queried: [2] },
    {
      name: 'repeats a query until an only upstream answers',
      given: [['-', '-', '-', '-', '8']],
      from: 'a',
      withinMs: 2500,
      queried: [5],
    },
    {
      name: 'returns SERVFAIL from all at once',
      given: [['5:2'], ['5:2']],
      problem: /SERVFAIL/,
      withinMs: 15,
      queried: [1, 1],
    },
    {
      name: 'ends after two rounds of refused connections',
      given: [['!1']],
      problem: /unreachable/,
      withinMs: 170,
      queried: [2],
    },
    {
      name: 'ends before clients time out if all are dead',
      given: [['-'], ['-']],
      problem: /within 4 s/,
      withinMs: 4000,
      queried: [4, 4],
    },
  ];
  for (const { name, given, from, problem, withinMs, queried } of table) {
    test(name, async () => {
      const clock = new ManualClock();
      const contestants = given.map((script, index) => new Scripted('abc'[index] ?? '?', script, clock));
      known(contestants);
      const { result, ms } = await run(clock, contestants);
      assert.equal(result.from, from ?? ('problem' in result ? result.from : undefined));
      if (problem !== undefined) assert.match('problem' in result ? result.problem : '', problem);
      assert.ok(ms <= withinMs, `${ms} ms is more than ${withinMs}`);
      assert.deepEqual(
        contestants.map(({ askedAt }) => askedAt.length),
        queried,
      );
    });
  }

  test('returns the message of SERVFAIL from all', async () => {
    const clock = new ManualClock();
    const { result } = await run(clock, [new Scripted('a', ['5:2'], clock), new Scripted('b', ['-'], clock)]);
    assert.equal(result.message?.header.flags, flagBits.QR | rcodes.SERVFAIL);
  });

  test('waits for slower upstreams for a second', async () => {
    const clock = new ManualClock();
    const contestants = [new Scripted('a', ['-'], clock), new Scripted('b', ['8'], clock)];
    known(contestants);
    await run(clock, contestants);
    assert.equal(contestants[0]?.aborted, 0);
    await clock.advance(1000);
    assert.equal(contestants[0]?.aborted, 1);
    assert.equal(clock.nextMs, undefined, 'no timer is left');
  });

  test('does not wait for a dropped upstream', async () => {
    const clock = new ManualClock();
    const looping = new Scripted('a', ['-'], clock);
    const race = new Race(query, [looping], { clock, random: () => 0, turn: 0 });
    const result = race.run();
    race.drop(looping, 'a forwarding loop');
    assert.deepEqual(await result, { problem: 'a forwarding loop', isBusy: false });
  });
});

suite('no stalls over many queries', () => {
  const table: readonly { name: string; first: Script; most: number; mean: number }[] = [
    { name: 'the first upstream is dead', first: ['-'], most: 160, mean: 12 },
    { name: 'the first upstream loses every second packet', first: ['-', '5'], most: 160, mean: 20 },
    { name: 'the first upstream takes 700 ms', first: ['700'], most: 160, mean: 15 },
    { name: 'the first upstream returns SERVFAIL', first: ['2:2'], most: 20, mean: 12 },
  ];
  for (const { name, first, most, mean } of table) {
    test(`${name}: 100 queries take ${mean} ms on average and at most ${most}`, async () => {
      const clock = new ManualClock();
      const contestants = [new Scripted('a', first, clock), new Scripted('b', ['8'], clock)];
      const times: number[] = [];
      for (let each = 0; each < 100; each++) {
        times.push((await run(clock, contestants, each)).ms);
        await clock.advance(50);
      }
      assert.ok(Math.max(...times) <= most, `the longest took ${Math.max(...times)} ms`);
      const average = times.reduce((sum, ms) => sum + ms, 0) / times.length;
      assert.ok(average <= mean, `${average} ms on average`);
    });
  }

  test('marks a dead upstream as down after a few queries', async () => {
    const clock = new ManualClock();
    const contestants = [new Scripted('a', ['5', '5', '5', '-'], clock), new Scripted('b', ['20'], clock)];
    for (let each = 0; each < 60; each++) {
      await run(clock, contestants, each);
      await clock.advance(50);
    }
    const dead = new Scripted('a', ['-'], clock);
    dead.health = contestants[0]?.health ?? unknownHealth;
    for (let each = 0; each < 60; each++) {
      await run(clock, [dead, contestants[1] ?? dead], each);
      await clock.advance(50);
    }
    assert.ok(isDown(dead.health) || dead.health.failureRate > 0.3);
    const { ms } = await run(clock, [dead, contestants[1] ?? dead]);
    assert.ok(ms <= 20, `${ms} ms`);
  });
});
