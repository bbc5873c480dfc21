import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { arbitraryStruct } from './testing/arbitrary.ts';
import { decode, DecodeError, zero } from './decode.ts';
import { everything } from './testing/example.ts';
import { always, int32, list, optional, string, struct } from './schema.ts';

const empty = { metadata: {}, ports: null, status: {}, stamp: null };

const decoded = [
  { name: 'an empty object: fields that are always written', given: {}, want: empty },
  {
    name: 'drops zero values of optional fields',
    given: { names: [], labels: {}, weight: 0, enabled: false, started: null, payload: '', kind: '' },
    want: empty,
  },
  {
    name: 'keeps zero values of pointers',
    given: { forced: false, raw: {} },
    want: { ...empty, forced: false, raw: {} },
  },
  { name: 'drops null pointers', given: { forced: null, raw: null, renewed: null }, want: empty },
  { name: 'keeps an empty list that is always written', given: { ports: [] }, want: { ...empty, ports: [] } },
  {
    name: 'null items are zero values',
    given: { names: ['a', null], ports: [null] },
    want: { ...empty, ports: [{ port: 0 }], names: ['a', ''] },
  },
  {
    name: 'null values of maps are zero values',
    given: { labels: { a: null } },
    want: { ...empty, labels: { a: '' } },
  },
  {
    name: 'converts times to UTC',
    given: { started: '2024-03-01T01:30:00.9+02:00' },
    want: { ...empty, started: '2024-02-29T23:30:00Z' },
  },
  {
    name: 'keeps six digits of micro times',
    given: { renewed: '2024-03-01T01:30:00.123456-00:30' },
    want: { ...empty, renewed: '2024-03-01T02:00:00.123456Z' },
  },
  { name: 'drops the zero time', given: { started: '0001-01-01T00:00:00Z' }, want: empty },
  {
    name: 'quantities become strings',
    given: { capacity: { cpu: 2, memory: '1Gi' } },
    want: { ...empty, capacity: { cpu: '2', memory: '1Gi' } },
  },
  {
    name: 'quantities become canonical',
    given: { capacity: { cpu: '0.5', memory: '1024Mi', disk: '1.5Gi', pods: '1000' } },
    want: { ...empty, capacity: { cpu: '500m', memory: '1Gi', disk: '1536Mi', pods: '1k' } },
  },
  {
    name: 'drops both zero values of intOrString',
    given: { ports: [{ target: 0 }, { target: '' }] },
    want: { ...empty, ports: [{ port: 0 }, { port: 0 }] },
  },
];

for (const { name, given, want } of decoded) {
  test(`decodes: ${name}`, () => {
    assert.deepEqual(decode(everything, given), { object: want, unknown: [] });
  });
}

test('orders fields by schema and map keys by bytes', () => {
  const { object } = decode(everything, {
    labels: { b: '', '\u{1F600}': '', '\uFFFD': '', a: '' },
    ports: [],
    kind: 'K',
  });
  assert.deepEqual(Object.keys(object), ['kind', 'metadata', 'ports', 'labels', 'status', 'stamp']);
  assert.deepEqual(Object.keys(object['labels'] ?? {}), ['a', 'b', '\uFFFD', '\u{1F600}']);
});

test('drops unknown fields and reports them in document order', () => {
  const given = JSON.parse(
    '{"foo":1,"ports":[{"port":1},{"bar":2,"port":2}],"metadata":{"Name":"x","__proto__":{}},"foo2":null}',
  );
  const { object, unknown } = decode(everything, given);
  assert.deepEqual(object, { ...empty, ports: [{ port: 1 }, { port: 2 }] });
  assert.deepEqual(unknown, [
    'unknown field "foo"',
    'unknown field "ports[1].bar"',
    'unknown field "metadata.Name"',
    'unknown field "metadata.__proto__"',
    'unknown field "foo2"',
  ]);
});

test('an open struct keeps undeclared fields', () => {
  const schema = struct('x.Open', '', { a: optional(1, string, '') }, { open: true });
  const given: unknown = JSON.parse('{"b":{"c":1},"a":"x","__proto__":2}');
  const { object, unknown } = decode(schema, given);
  assert.deepEqual(Object.entries(object), [
    ['a', 'x'],
    ['b', { c: 1 }],
    ['__proto__', 2],
  ]);
  assert.deepEqual(unknown, []);
});

test('a map keeps a key named __proto__ as data', () => {
  const { object } = decode(everything, JSON.parse('{"labels":{"__proto__":"x"}}'));
  assert.deepEqual(Object.entries(object['labels'] ?? {}), [['__proto__', 'x']]);
});

const goField = 'json: cannot unmarshal';
const wrong = [
  { given: { ports: [{ port: 'x' }] }, want: `${goField} string into Go struct field Port.ports.port of type int32` },
  {
    given: { ports: [{ port: 3e9 }] },
    want: `${goField} number 3000000000 into Go struct field Port.ports.port of type int32`,
  },
  {
    given: { ports: [{ port: 1.5 }] },
    want: `${goField} number 1.5 into Go struct field Port.ports.port of type int32`,
  },
  { given: { ports: {} }, want: `${goField} object into Go struct field Everything.ports of type []v1.Port` },
  {
    given: { metadata: { labels: { a: 1 } } },
    want: `${goField} number into Go struct field ObjectMeta.metadata.labels of type string`,
  },
  {
    given: { metadata: { labels: [] } },
    want: `${goField} array into Go struct field ObjectMeta.metadata.labels of type map[string]string`,
  },
  { given: { status: true }, want: `${goField} bool into Go struct field Everything.status of type v1.Status` },
  { given: [], want: `${goField} array into Go value of type v1.Everything` },
  { given: 'x', want: `${goField} string into Go value of type v1.Everything` },
  {
    given: { ports: [{ target: true }] },
    want: `${goField} bool into Go struct field Port.ports.target of type int32`,
  },
  {
    given: { started: 'now' },
    want: 'parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"',
  },
  { given: { started: '2023-02-29T00:00:00Z' }, want: /^parsing time/ },
  { given: { started: 5 }, want: `${goField} number into Go struct field Everything.started of type string` },
  { given: { renewed: '2024-01-01T00:00:00Z' }, want: /^parsing time/ },
  { given: { payload: 'a' }, want: 'illegal base64 data at input byte 1' },
  { given: { payload: 'a*==' }, want: 'illegal base64 data at input byte 1' },
  { given: { capacity: { cpu: 'lots' } }, want: /^quantities must match the regular expression/ },
  { given: { capacity: { cpu: '1'.repeat(60_000) } }, want: /^quantities must match the regular expression/ },
  { given: { started: `2024-01-01T00:00:00.${'1'.repeat(3_000_000)}x` }, want: /^parsing time .{0,2500}$/ },
];

for (const { given, want } of wrong) {
  test(`rejects ${JSON.stringify(given)}`, () => {
    assert.throws(
      () => decode(everything, given),
      (error) =>
        error instanceof DecodeError && (typeof want === 'string' ? error.message === want : want.test(error.message)),
    );
  });
}

test('reports the first invalid value of the document', () => {
  const given = JSON.parse('{"status":{"phase":1},"ports":[{"port":"x"}]}');
  assert.throws(() => decode(everything, given), /Go struct field Status\.status\.phase of type string/);
});

test('decoding is idempotent and does not modify its input', () => {
  fc.assert(
    fc.property(arbitraryStruct(everything), (given) => {
      const before = JSON.stringify(given);
      const once = decode(everything, given);
      assert.deepEqual(once.unknown, []);
      assert.equal(JSON.stringify(given), before);
      assert.equal(JSON.stringify(decode(everything, once.object).object), JSON.stringify(once.object));
    }),
  );
});

test('decodes any JSON or rejects it with a DecodeError', () => {
  const names = fc.constantFrom(...Object.keys(everything.fields), 'other');
  fc.assert(
    fc.property(fc.dictionary(names, fc.jsonValue()), (given) => {
      try {
        decode(everything, given);
      } catch (error) {
        assert.ok(error instanceof DecodeError);
      }
    }),
  );
});

test('zero returns the value of an absent field', () => {
  const inner = struct('x.Inner', '', { port: always(1, int32, ''), name: optional(2, string, '') });
  assert.deepEqual(zero(struct('x.Outer', '', { inner: always(1, inner, ''), all: always(2, list(inner), '') })), {
    inner: { port: 0 },
    all: null,
  });
});
