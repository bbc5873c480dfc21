import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';

import { ManualClock } from '../../client/testing/clocks.ts';
import { rcodes, types } from '../../dnswire/codes.ts';
import type { RawRecord } from '../../dnswire/record.ts';
import type { CacheKey, CacheOptions } from './cache.ts';
import { AnswerCache } from './cache.ts';
import { newCacheCounts } from './counters.ts';
import type { Extract } from './extract.ts';
import { emptyAnswer } from '../resolver.ts';

const key = (
  name = 'www.example.org',
  more: Partial<Omit<CacheKey, 'question'>> = {},
  type: number = types.A,
): CacheKey => ({
  question: { name, type, class: 1 },
  dnssecOk: false,
  checkingDisabled: false,
  ...more,
});

const address = (ttl: number, owner = 'www.example.org'): RawRecord => ({
  owner,
  type: types.A,
  class: 1,
  ttl,
  data: Uint8Array.of(192, 0, 2, 1),
});

const found = (ttl: number): Extract => ({
  answer: { rcode: rcodes.NOERROR, answers: [address(ttl)], authority: [], additional: [] },
  kind: 'positive',
  ttl,
});
const denied = (ttl: number): Extract => ({ answer: emptyAnswer(rcodes.NXDOMAIN), kind: 'negative', ttl });
const servfail = emptyAnswer(rcodes.SERVFAIL);

/** A cache with a manual clock. */
function given(options: CacheOptions = {}): { clock: ManualClock; cache: AnswerCache } {
  const clock = new ManualClock();
  return { clock, cache: new AnswerCache({ clock, random: () => 0.5, ...options }) };
}

/** `fresh 60`, `fresh NXDOMAIN`, `stale 30`, `stale 30 at once`, `nothing`. */
function look(cache: AnswerCache, at: CacheKey = key()): string {
  const result = cache.find(at);
  if (result === undefined) return 'nothing';
  const what = result.answer.answers[0]?.ttl ?? result.answer.rcode;
  const atOnce = result.state === 'stale' && result.recentlyFailed ? ' at once' : '';
  return `${result.state} ${what}${atOnce}`;
}

/** Runs words on a cache: `found:60`, `denied:60`, `fail`, `+10` (seconds pass), `?` (what is there). */
async function play(script: string, options: CacheOptions = {}): Promise<string> {
  const { clock, cache } = given(options);
  const seen: string[] = [];
  for (const word of script.split(' ')) {
    const [what = '', ttl = '0'] = word.split(':');
    if (what === 'found') cache.put(key(), found(Number(ttl)));
    else if (what === 'denied') cache.put(key(), denied(Number(ttl)));
    else if (what === 'fail') cache.fail(key(), servfail);
    else if (what === '?') seen.push(look(cache));
    else await clock.advance(Number(what.slice(1)) * 1000);
  }
  return seen.join(', ');
}

suite('lifetime of answers', () => {
  const table: readonly { name: string; given: string; want: string; options?: CacheOptions }[] = [
    { name: 'empty at first', given: '?', want: 'nothing' },
    { name: 'TTLs decrease', given: 'found:60 ? +10 ? +49.5 ?', want: 'fresh 60, fresh 50, fresh 0' },
    { name: 'stale after its TTL, with a TTL of 30 (RFC 8767)', given: 'found:60 +60 ?', want: 'stale 30' },
    { name: 'stale for a day', given: 'found:60 +86459 ? +1 ?', want: 'stale 30, nothing' },
    { name: 'no stale answers with staleFor 0', given: 'found:60 +60 ?', options: { staleFor: 0 }, want: 'nothing' },
    {
      name: 'stale answers are returned at once for 30 s after a failure',
      given: 'found:60 +61 fail ? +29 ? +1 ?',
      want: 'stale 30 at once, stale 30 at once, stale 30',
    },
    { name: 'a failure does not hide a fresh answer', given: 'found:60 fail ?', want: 'fresh 60' },
    { name: 'caches a negative answer', given: 'denied:20 ? +19 ? +1 ?', want: 'fresh 3, fresh 3, nothing' },
    { name: 'a negative answer is never stale', given: 'denied:20 +20 ?', want: 'nothing' },
    {
      name: 'a negative answer replaces a positive one',
      given: 'found:60 denied:20 ? +20 ?',
      want: 'fresh 3, nothing',
    },
    { name: 'a positive answer replaces a negative one', given: 'denied:20 found:60 ?', want: 'fresh 60' },
    { name: 'does not cache a negative answer without a SOA', given: 'denied:0 ?', want: 'nothing' },
    { name: 'does not cache TTL 0, not even as stale', given: 'found:0 ?', want: 'nothing' },
    { name: 'minimum TTL', given: 'found:0 ? +4 ? +1 ?', options: { minTtl: 5 }, want: 'fresh 5, fresh 1, stale 30' },
    { name: 'maximum TTL', given: 'found:86400 ? +3600 ?', want: 'fresh 3600, stale 30' },
    { name: 'maximum negative TTL', given: 'denied:86400 +299 ? +1 ?', want: 'fresh 3, nothing' },
    {
      name: 'caches a failure for a second (RFC 9520)',
      given: 'fail ? +0.9 ? +0.1 ?',
      want: 'fresh 2, fresh 2, nothing',
    },
    {
      name: 'caches consecutive failures longer',
      given: 'fail +1 fail +1.9 ? +0.1 ? fail +3.9 ? +0.1 ?',
      want: 'fresh 2, nothing, fresh 2, nothing',
    },
    {
      name: 'up to a limit',
      given: 'fail +1 fail +2 fail +4 fail +8 fail +16 fail +30 fail +29 ? +1 ?',
      want: 'fresh 2, nothing',
    },
    { name: 'ignores old failures', given: 'fail +1 fail +60 fail +1 ?', want: 'nothing' },
    { name: 'an answer replaces a failure', given: 'fail found:60 ?', want: 'fresh 60' },
  ];
  for (const { name, given: script, options, want } of table) {
    test(name, async () => assert.equal(await play(script, options), want));
  }
});

test('keys include type, class, DO and CD', () => {
  const { cache } = given();
  cache.put(key(), found(60));
  assert.equal(look(cache), 'fresh 60');
  assert.equal(look(cache, key('www.example.org', { dnssecOk: true })), 'nothing');
  assert.equal(look(cache, key('www.example.org', { checkingDisabled: true })), 'nothing');
  assert.equal(look(cache, key('www.example.org', {}, types.AAAA)), 'nothing');
});

test('refreshes a popular answer in the last tenth of its TTL', async () => {
  const { clock, cache } = given();
  cache.put(key(), found(100));
  const needsRefresh = (): boolean => {
    const result = cache.find(key());
    return result?.state === 'fresh' && result.needsRefresh;
  };
  assert.deepEqual([needsRefresh(), needsRefresh(), needsRefresh()], [false, false, false]);
  await clock.advance(89_000);
  assert.equal(needsRefresh(), false);
  await clock.advance(1_500);
  assert.equal(needsRefresh(), true);
  cache.put(key('b.example.org'), found(100));
  await clock.advance(95_000);
  assert.equal(cache.find(key('b.example.org'))?.state, 'fresh');
});

test('purges a name and everything below it', () => {
  const { cache } = given();
  for (const name of ['example.org', 'www.example.org', 'a.b.example.org', 'notexample.org', 'org']) {
    cache.put(key(name), found(60));
  }
  cache.put(key('gone.example.org'), denied(60));
  assert.equal(cache.purge('example.org'), 4);
  assert.equal(look(cache, key('www.example.org')), 'nothing');
  assert.equal(look(cache, key('notexample.org')), 'fresh 60');
  assert.equal(cache.purge(''), 2);
  assert.deepEqual(cache.size, { success: 0, denial: 0 });
});

test('a flood of negative answers evicts no positive one', () => {
  const counts = newCacheCounts();
  const { cache } = given({ entries: 100, counts });
  for (let each = 0; each < 100; each++) cache.put(key(`n${each}.example.org`), found(60));
  for (let each = 0; each < 1000; each++) cache.put(key(`x${each}.example.org`), denied(60));
  assert.deepEqual(cache.size, { success: 100, denial: 100 });
  assert.deepEqual(counts.evictions, { success: 0, denial: 900 });
});

test('never exceeds its bounds, the stale limit or the remaining TTL', async () => {
  const step = fc.record({
    name: fc.nat(30).map((each) => `n${each}.example.org`),
    ttl: fc.nat(400),
    what: fc.constantFrom('found', 'denied', 'fail', 'find'),
    wait: fc.nat(200),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const limits = { entries: 8, bytes: 4000, maxTtl: 300, maxNegativeTtl: 100, staleFor: 500 };
      const { clock, cache } = given(limits);
      /** Name → time and TTL of its answer. */
      const put = new Map<string, { readonly at: number; readonly ttl: number }>();
      for (const { name, ttl, what, wait } of steps) {
        const at = { ...key(name) };
        if (what === 'found') {
          cache.put(at, found(ttl));
          put.set(name, { at: clock.now(), ttl: Math.min(ttl, 300) });
        } else if (what === 'denied') {
          cache.put(at, denied(ttl));
          put.delete(name);
        } else if (what === 'fail') cache.fail(at, servfail);
        const result = cache.find(at);
        const record = result?.answer.answers[0];
        const source = put.get(name);
        if (record !== undefined) {
          assert.ok(source !== undefined, 'what was denied does not come back');
          const age = (clock.now() - source.at) / 1000;
          assert.ok(age < source.ttl + 500, 'not past the stale limit');
          assert.ok(
            result?.state === 'stale' ? record.ttl === 30 && age >= source.ttl : record.ttl <= source.ttl - age,
          );
        }
        assert.ok(cache.size.success <= 8 && cache.size.denial <= 8 && cache.bytes <= 8000);
        await clock.advance(wait * 1000);
      }
    }),
    { numRuns: 60 },
  );
});
