import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import fc from 'fast-check';

import type { Requirement } from './labels.ts';
import { matchesLabels, parseLabelSelector } from './labels.ts';

suite('valid label selectors', () => {
  const table: readonly [text: string, want: readonly Requirement[]][] = [
    ['', []],
    ['  ', []],
    ['a', [{ key: 'a', operator: 'exists', values: new Set() }]],
    ['!a', [{ key: 'a', operator: 'absent', values: new Set() }]],
    ['! a', [{ key: 'a', operator: 'absent', values: new Set() }]],
    ['a=b', [{ key: 'a', operator: 'in', values: new Set(['b']) }]],
    ['a == b', [{ key: 'a', operator: 'in', values: new Set(['b']) }]],
    ['a!=b', [{ key: 'a', operator: 'notin', values: new Set(['b']) }]],
    ['a=', [{ key: 'a', operator: 'in', values: new Set(['']) }]],
    [
      'a=,b',
      [
        { key: 'a', operator: 'in', values: new Set(['']) },
        { key: 'b', operator: 'exists', values: new Set() },
      ],
    ],
    ['a in (b,c)', [{ key: 'a', operator: 'in', values: new Set(['b', 'c']) }]],
    ['a notin ( b , c )', [{ key: 'a', operator: 'notin', values: new Set(['b', 'c']) }]],
    ['a in ()', [{ key: 'a', operator: 'in', values: new Set(['']) }]],
    ['a in (,b)', [{ key: 'a', operator: 'in', values: new Set(['', 'b']) }]],
    ['a in (b,)', [{ key: 'a', operator: 'in', values: new Set(['b', '']) }]],
    ['a in (b,b)', [{ key: 'a', operator: 'in', values: new Set(['b']) }]],
    ['a>1', [{ key: 'a', operator: 'gt', values: new Set(['1']) }]],
    ['a < -5', [{ key: 'a', operator: 'lt', values: new Set(['-5']) }]],
    ['in in (in)', [{ key: 'in', operator: 'in', values: new Set(['in']) }]],
    ['in', [{ key: 'in', operator: 'exists', values: new Set() }]],
    ['a=notin', [{ key: 'a', operator: 'in', values: new Set(['notin']) }]],
    [
      'kubernetes.io/service-name=web',
      [{ key: 'kubernetes.io/service-name', operator: 'in', values: new Set(['web']) }],
    ],
  ];
  for (const [text, want] of table) test(`"${text}"`, () => assert.deepEqual(parseLabelSelector(text), want));
});

suite('invalid label selectors', () => {
  const name = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end";
  const table: readonly [text: string, want: string][] = [
    ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['a in (b c)', "unable to parse requirement: found 'c', expected: ',' or ')'"],
    ['a===b', "unable to parse requirement: found '=', expected: identifier"],
    ['a=(b)', "unable to parse requirement: found '(', expected: identifier"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['!!a', "unable to parse requirement: found '!', expected: identifier"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a,', "found '', expected: identifier after ','"],
    ['a,=b', "found '=', expected: identifier after ','"],
    ['a,,b', "found ',', expected: identifier after ','"],
    [',a', "found ',', expected: !, identifier, or 'end of string'"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    [
      'a>x',
      `unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    ['-a', `unable to parse requirement: <nil>: Invalid value: "-a": ${name}`],
    [`${'a'.repeat(64)}`, 'unable to parse requirement: <nil>: Invalid value: "aaaa'],
    ['a=-b', 'unable to parse requirement: values[0][a]: Invalid value: "-b": a valid label must be an empty string'],
    [`a=${'b'.repeat(64)}`, 'unable to parse requirement: values[0][a]: Invalid value: "bbbb'],
  ];
  for (const [text, want] of table) {
    test(`"${text.slice(0, 20)}"`, () =>
      assert.throws(
        () => parseLabelSelector(text),
        (error: { status?: { code: number }; message: string }) => {
          assert.equal(error.status?.code, 400);
          assert.ok(error.message.startsWith(want), error.message);
          return true;
        },
      ));
  }
});

suite('a label selector matches', () => {
  const table: readonly [selector: string, labels: Record<string, string> | undefined, want: boolean][] = [
    ['', undefined, true],
    ['a', undefined, false],
    ['!a', undefined, true],
    ['a!=b', undefined, true],
    ['a notin (b)', {}, true],
    ['a', { a: '' }, true],
    ['a=', { a: '' }, true],
    ['a=', {}, false],
    ['a=b,c', { a: 'b', c: '' }, true],
    ['a=b,c', { a: 'b' }, false],
    ['a in (b,c)', { a: 'c' }, true],
    ['a>9', { a: '10' }, true],
    ['a>9', { a: 'x' }, false],
    ['a>9', {}, false],
    ['a>9007199254740992', { a: '9007199254740993' }, true],
    ['a<0', { a: '-1' }, true],
    ['constructor', { a: 'b' }, false],
    ['!toString', { a: 'b' }, true],
    ['constructor=a', { constructor: 'a' }, true],
  ];
  for (const [selector, labels, want] of table) {
    test(`"${selector}" and ${JSON.stringify(labels)}`, () =>
      assert.equal(matchesLabels(parseLabelSelector(selector), labels), want));
  }
});

// A model that follows the definition of each operator, with few keys and values so that terms match often.
const key = fc.constantFrom('a', 'b', 'c.d/e');
const value = fc.constantFrom('', '1', '2', '10', 'x', 'in');
const term = fc.oneof(
  fc.tuple(key, fc.constantFrom('=', '==', '!='), value).map(([k, operator, v]) => ({
    text: `${k}${operator}${v}`,
    holds: (labels: ReadonlyMap<string, string>) => (labels.get(k) === v) === (operator !== '!='),
  })),
  fc.tuple(key, fc.boolean(), fc.array(value, { minLength: 1, maxLength: 3 })).map(([k, isIn, values]) => ({
    text: `${k} ${isIn ? 'in' : 'notin'} (${values.join(', ')})`,
    holds: (labels: ReadonlyMap<string, string>) => values.some((v) => labels.get(k) === v) === isIn,
  })),
  fc.tuple(key, fc.boolean()).map(([k, exists]) => ({
    text: exists ? k : `!${k}`,
    holds: (labels: ReadonlyMap<string, string>) => labels.has(k) === exists,
  })),
  fc.tuple(key, fc.boolean(), fc.integer({ min: -3, max: 12 })).map(([k, isGreater, bound]) => ({
    text: `${k} ${isGreater ? '>' : '<'} ${bound}`,
    holds: (labels: ReadonlyMap<string, string>) => {
      const number = Number.parseInt(labels.get(k) ?? '', 10);
      return isGreater ? number > bound : number < bound;
    },
  })),
);

test('a selector matches exactly what all its terms match', () => {
  fc.assert(
    fc.property(fc.array(term, { maxLength: 4 }), fc.dictionary(key, value), (terms, labels) => {
      const world = new Map(Object.entries(labels));
      const selector = parseLabelSelector(terms.map(({ text }) => text).join(','));
      assert.equal(
        matchesLabels(selector, labels),
        terms.every(({ holds }) => holds(world)),
      );
    }),
  );
});

test('rejects a bound that is not a 64-bit integer', () => {
  for (const bound of ['9223372036854775808', '9'.repeat(10_000)]) {
    assert.throws(() => parseLabelSelector(`a>${bound}`), { message: /the value must be an integer$/ });
  }
  assert.ok(matchesLabels(parseLabelSelector('a<9223372036854775807'), { a: '1' }));
  assert.ok(!matchesLabels(parseLabelSelector('a<1'), { a: '-9223372036854775809' }));
});

test('a selector has at most 100 terms', () => {
  const terms = (count: number): string => Array.from({ length: count }, (_, index) => `!a${index}`).join(',');
  assert.equal(parseLabelSelector(terms(100)).length, 100);
  assert.throws(() => parseLabelSelector(terms(101)), { message: 'invalid selector: it has more than 100 terms' });
});

test('parses any text or rejects it with a 400', () => {
  const noise = fc.string({ unit: fc.constantFrom('a', 'in', ' ', '=', '!', ',', '(', ')', '<', '>', '/', '-', '\n') });
  fc.assert(
    fc.property(noise, (text) => {
      try {
        for (const { key: k } of parseLabelSelector(text)) assert.notEqual(k, '');
      } catch (error) {
        assert.equal((error as { status?: { code: number } }).status?.code, 400);
      }
    }),
  );
});
