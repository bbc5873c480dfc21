import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { dump } from 'js-yaml';

import { toYaml, yamlPieces } from './write-yaml.ts';

test('writes YAML in the style of Kubernetes', () => {
  const status = { kind: 'Status', code: 404, metadata: {}, details: { name: '5', items: ['a', { b: 'yes' }] } };
  assert.equal(
    toYaml(status),
    'code: 404\ndetails:\n  items:\n  - a\n  - b: "yes"\n  name: "5"\nkind: Status\nmetadata: {}\n',
  );
});

/** The whole value in one go: what the pieces must add up to, but for the mark at the end of the document. */
const whole = (value: unknown): string =>
  unended(dump(value, { noRefs: true, lineWidth: -1, sortKeys: true, seqNoIndent: true, quoteStyle: 'double' }));

const unended = (text: string): string => text.replace(/\n\.\.\.\n$/, '\n');

const strings = [
  [
    '.',
    'f:spec',
    'k:{"port":80,"protocol":"TCP"}',
    'a:',
    'a:b',
    'a#b',
    'a:#',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '0',
    '00',
  ],
  [
    '',
    ' ',
    'a',
    'web-1',
    'a b',
    'a: b',
    'a #b',
    '#',
    '-',
    '- a',
    '?',
    ':',
    '|',
    '>',
    '%a',
    '@a',
    '`',
    '*a',
    '&a',
    '!a',
  ],
  ['yes', 'No', 'ON', 'y', 'N', 'true', 'False', 'null', 'Null', '~', '.inf', '.NaN', '-.inf', '=', '<<', '---', '...'],
  ['1', '-1', '+1', '0x1f', '0o17', '017', '08', '1_000', '1e3', '1.5', '.5', '1:20', '1:20:30', '0b1', '12e', 'e1'],
  ['10.0.0.1', '::1', '2026-11-18', '2026-11-18T10:00:00Z', '2026-11-18T10:00:00.123456Z', '2026-11-18 10:00:00'],
  [
    'f47ac10b-58cc-4372-a567-0e02b2c3d479',
    '12345678-58cc-4372-a567-0e02b2c3d479',
    '1e345678-58cc-4372-a567-000000000000',
  ],
  [
    'a/b',
    'a.b/c',
    '/a',
    './a',
    '"a"',
    "it's",
    '{}',
    '[]',
    '{"a":1}',
    '[a]',
    'a,b',
    'a\tb',
    '\ta',
    'a ',
    'a\\b',
    'é',
    '😀',
  ],
  [
    'a\n',
    '\n',
    '\n\n',
    'a\nb',
    'a\nb\n',
    'a\nb\n\n',
    ' a\nb',
    '\n a',
    'a\n b\n',
    'a\n\nb',
    'a\n\n\nb\n',
    '- a\n- b\n',
    '---\na\n',
  ],
  [
    'a\r\nb',
    'a\u0001b',
    'a\nb\u0001',
    '\u0085',
    '\u00a0',
    '\u2028',
    '\ufeff',
    '\ud800',
    'a\ud800\nb',
    'k: v\n...\n',
    'x'.repeat(1500),
  ],
].flat();
const scalars: readonly unknown[] = [...strings, 0, -1, 8080, 1.5, 1e21, 2 ** 53, true, false, null, {}, []];

suite('pieces join to the output of the library', () => {
  for (const value of scalars) {
    test(JSON.stringify(value).slice(0, 60), () => {
      const key = typeof value === 'string' ? value : 'key';
      for (const shape of [
        value,
        [value],
        [[value, value], value],
        { [key]: 1, z: 0 },
        { [key]: { [key]: [1] } },
        { a: value, z: 0 },
        { a: { b: { c: value, d: [value, { e: value, f: [[value]] }] } }, z: 0 },
        [{ a: value, b: [{ c: value }] }, 0],
      ]) {
        assert.equal(unended(toYaml(shape)), whole(shape));
      }
    });
  }
});

test('writes random values as the library does', () => {
  let seed = 7;
  const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const pick = (depth: number): unknown => {
    const kind = depth > 4 ? 9 : random(10);
    if (kind < 2) return Array.from({ length: random(4) }, () => pick(depth + 1));
    if (kind > 5) return scalars[random(scalars.length)];
    return Object.fromEntries(Array.from({ length: random(5) }, () => [strings[random(70)] ?? 'a', pick(depth + 1)]));
  };
  for (let round = 0; round < 2000; round++) {
    const value = { ...Object(pick(0)), zz: 1 } as unknown;
    assert.equal(toYaml(value), whole(value), JSON.stringify(value));
  }
});

test('text that ends in empty lines does not end the document', () => {
  assert.equal(toYaml({ data: 'a\n\n' }), 'data: |+\n  a\n\n');
});

test('a piece exceeds the requested size by at most one scalar', () => {
  const ports = Array.from({ length: 1000 }, (_, port) => ({ name: `p${port}`, port }));
  const pieces = [...yamlPieces({ spec: { ports } }, 100)];
  assert.equal(pieces.join(''), toYaml({ spec: { ports } }));
  assert.ok(Math.max(...pieces.map((piece) => piece.length)) < 130);
});
