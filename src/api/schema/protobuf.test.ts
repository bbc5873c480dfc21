import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { serviceKind } from '../kinds/core/service/kind.ts';
import { deleteOptions } from '../delete-options.ts';
import { arbitraryStruct } from './testing/arbitrary.ts';
import { decode } from './decode.ts';
import { everything } from './testing/example.ts';
import { decodeEnvelope, decodeProtobuf, encodeProtobuf, ProtobufError } from './protobuf.ts';
import { WireWriter } from './wire.ts';

const bytes = (hex: string): Uint8Array => Buffer.from(hex.replaceAll(' ', ''), 'hex');

test('an envelope contains the kind of its message', () => {
  const body = bytes('6b387300 0a0f 0a02 7631 1209 4e616d657370616365 1202 0a00 1a00 2200');
  assert.deepEqual(
    { ...decodeEnvelope(body), raw: [...decodeEnvelope(body).raw] },
    { apiVersion: 'v1', kind: 'Namespace', raw: [0x0a, 0x00], contentType: '' },
  );
});

const messages = [
  { name: 'an empty message', hex: '', want: {} },
  { name: 'a zero pointer', hex: '0800', want: { gracePeriodSeconds: 0 } },
  { name: 'a negative number', hex: '08 ffffffffffffffffff01', want: { gracePeriodSeconds: -1 } },
  {
    name: 'a message and a list',
    hex: '12 03 0a0161 2a 03 416c6c',
    want: { preconditions: { uid: 'a' }, dryRun: ['All'] },
  },
  {
    name: 'a message in two occurrences',
    hex: '12 03 0a0161 12 03 120162',
    want: { preconditions: { uid: 'a', resourceVersion: 'b' } },
  },
  {
    name: 'unknown numbers of every wire type',
    hex: 'd83e05 d93e0102030405060708 da3e0101 dd3e01020304 1801',
    want: { orphanDependents: true },
  },
];

for (const { name, hex, want } of messages) {
  test(`reads ${name}`, () => {
    assert.deepEqual(decodeProtobuf(deleteOptions, bytes(hex)), want);
  });
}

const malformed = [
  { name: 'a length beyond the end', hex: '1205 0a', want: 'unexpected EOF' },
  { name: 'an unfinished varint', hex: '08ff', want: 'unexpected EOF' },
  { name: 'a varint without end', hex: '08 ffffffffffffffffffffffff', want: 'integer overflow' },
  { name: 'a string instead of a number', hex: '0a0161', want: 'wrong wireType = 2 for field gracePeriodSeconds' },
  { name: 'field number 0', hex: '0001', want: 'illegal tag 0 (wire type 0)' },
  { name: 'a group', hex: 'db3e', want: 'illegal wireType 3' },
];

for (const { name, hex, want } of malformed) {
  test(`rejects ${name}`, () => {
    assert.throws(
      () => decodeProtobuf(deleteOptions, bytes(hex)),
      (error) => error instanceof ProtobufError && error.message === want,
    );
  });
}

/** A field with a length: its number and its bytes. */
function field(number: number, content: Uint8Array): Buffer {
  const writer = new WireWriter();
  writer.bytes(number, content);
  return Buffer.from(writer.finish());
}
const times = (count: number, part: Uint8Array): Buffer => Buffer.concat(Array<Uint8Array>(count).fill(part));
const managedFields = (json: string): Buffer => field(1, field(17, field(7, field(1, Buffer.from(json)))));

const floods = [
  { name: 'list items', of: deleteOptions, raw: times(100_001, field(5, Buffer.alloc(0))) },
  { name: 'unknown fields', of: deleteOptions, raw: times(100_001, field(100, Buffer.alloc(0))) },
  { name: 'packed numbers', of: everything, raw: field(9, Buffer.alloc(100_001, 1)) },
  { name: 'values of FieldsV1', of: serviceKind.schema, raw: managedFields(`[0${',0'.repeat(100_000)}]`) },
  { name: 'values of many FieldsV1', of: serviceKind.schema, raw: times(30_000, managedFields('{"f:a":{}}')) },
];
for (const { name, of, raw } of floods) {
  test(`rejects more than 100,000 ${name}`, () => {
    assert.throws(() => decodeProtobuf(of, raw), { code: 'TOO_MANY_VALUES' });
  });
}

test('rejects deeply nested FieldsV1', () => {
  const why = { code: 'PROTOBUF', message: 'embedded JSON is malformed: exceeded max depth of 500' };
  assert.throws(() => decodeProtobuf(serviceKind.schema, managedFields('['.repeat(1_000_000))), why);
  assert.throws(() => decodeProtobuf(serviceKind.schema, managedFields('{"f:a":'.repeat(501) + '}'.repeat(501))), why);
});

test('rejects an envelope that has only unknown fields', () => {
  const flood = Buffer.concat([Buffer.from('k8s\0'), times(100_001, field(100, Buffer.alloc(0)))]);
  assert.throws(() => decodeEnvelope(flood), { code: 'TOO_MANY_VALUES' });
});

test('encodes an inline field in a message of its own', () => {
  const object = decode(everything, { rules: [{ host: 'a', http: { path: '/' } }] }).object;
  const encoded = Buffer.from(encodeProtobuf(everything, object)).toString('hex');
  assert.ok(encoded.includes('1a0a' + '0a0161' + '1205' + '0a03' + '0a012f'), encoded);
});

test('decodes packed numbers', () => {
  assert.deepEqual(decodeProtobuf(everything, bytes('4a 03 01 ac02'))['numbers'], [1, 300]);
});

test('decoding reverses encoding', () => {
  fc.assert(
    fc.property(arbitraryStruct(everything), (given) => {
      const { object } = decode(everything, given);
      const { kind: _, apiVersion: __, ports, ...rest } = object;
      const back = decodeProtobuf(everything, encodeProtobuf(everything, object));
      // Kind and version are the envelope's; an empty list is no list to protobuf.
      const want = { ...rest, ports: Array.isArray(ports) && ports.length > 0 ? ports : null };
      assert.deepEqual(back, want);
    }),
  );
});

test('decodes mutated messages or rejects them with a ProtobufError', () => {
  const change = fc.tuple(fc.nat(), fc.nat(255));
  fc.assert(
    fc.property(arbitraryStruct(everything), fc.array(change, { minLength: 1, maxLength: 4 }), (given, changes) => {
      const message = encodeProtobuf(everything, decode(everything, given).object);
      for (const [at, byte] of changes) if (message.length > 0) message[at % message.length] = byte;
      try {
        decodeProtobuf(everything, message);
        decodeEnvelope(message);
      } catch (error) {
        assert.ok(error instanceof ProtobufError, String(error));
      }
    }),
    { numRuns: 300 },
  );
});
