import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classes, types } from './codes.ts';
import { opcodeOf, readMessage } from './message.ts';
import { encodeUpdate } from './update.ts';

const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);

test('an update has one zone, prerequisites and changes with the classes and TTLs of RFC 2136', () => {
  const encoded = encodeUpdate(
    {
      zone: 'example.org',
      prerequisites: [
        { require: 'unused', name: 'a.example.org' },
        { require: 'absent', name: 'b.example.org', type: types.CNAME },
        { require: 'equal', name: 'c.example.org', type: types.A, data: [bytes(192, 0, 2, 1), bytes(192, 0, 2, 2)] },
      ],
      steps: [
        { do: 'delete set', name: 'c.example.org', type: types.A },
        { do: 'delete', name: 'd.example.org', type: types.A, data: [bytes(192, 0, 2, 3)] },
        { do: 'add', name: 'a.example.org', type: types.A, ttl: 60, data: [bytes(192, 0, 2, 4)] },
      ],
    },
    { id: 7, limit: 65_535 },
  );
  const message = encoded && readMessage(encoded);
  assert.equal(message?.header.id, 7);
  assert.equal(message && opcodeOf(message.header), 5);
  assert.deepEqual(message?.questions, [{ name: 'example.org', type: types.SOA, class: classes.IN }]);
  const lines = (records: NonNullable<typeof message>['answers']): readonly string[] =>
    records.map(({ owner, type, class: of, ttl, data }) => `${owner} ${of} ${type} ${ttl} ${[...data].join('.')}`);
  assert.deepEqual(lines(message?.answers ?? []), [
    'a.example.org 254 255 0 ',
    'b.example.org 254 5 0 ',
    'c.example.org 1 1 0 192.0.2.1',
    'c.example.org 1 1 0 192.0.2.2',
  ]);
  assert.deepEqual(lines(message?.authority ?? []), [
    'c.example.org 255 1 0 ',
    'd.example.org 254 1 0 192.0.2.3',
    'a.example.org 1 1 60 192.0.2.4',
  ]);
});

test('an update above the limit is not encoded', () => {
  const data = Array.from({ length: 5000 }, (_, index) => bytes(10, 0, index >> 8, index & 255));
  const steps = [{ do: 'add', name: 'a.example.org', type: types.A, ttl: 60, data }] as const;
  assert.equal(encodeUpdate({ zone: 'example.org', prerequisites: [], steps }, { id: 1, limit: 65_535 }), undefined);
});
