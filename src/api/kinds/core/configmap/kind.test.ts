import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WriteContext } from '../../../kind.ts';
import { configMapKind } from './kind.ts';
import type { ConfigMap } from './schema.ts';

const context: WriteContext = { gates: { enabled: () => false }, loopbackEndpoints: [] };
const metadata = { name: 'settings', namespace: 'shop' };
const keyRule =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

const mebibyte = 1024 * 1024;
const creations: readonly { name: string; given: Partial<ConfigMap>; want: readonly string[] }[] = [
  { name: 'valid keys', given: { data: { 'a.b_C-1': 'x' }, binaryData: { raw: 'AAA=' } }, want: [] },
  {
    name: 'a key with a slash',
    given: { data: { 'a/b': 'x' } },
    want: [`data[a/b]: Invalid value: "a/b": ${keyRule}`],
  },
  {
    name: 'a key that starts with ..',
    given: { data: { '..x': '' } },
    want: [`data[..x]: Invalid value: "..x": must not start with '..'`],
  },
  {
    name: 'a key that is a directory',
    given: { data: { '.': '' } },
    want: [`data[.]: Invalid value: ".": must not be '.'`],
  },
  {
    name: 'a key in both maps',
    given: { data: { a: '' }, binaryData: { a: '' } },
    want: ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
  },
  { name: 'values of exactly the maximum size', given: { data: { a: 'x'.repeat(mebibyte - 2), b: 'é' } }, want: [] },
  {
    name: 'one byte above the maximum size in UTF-8 and decoded base64',
    given: { data: { a: 'x'.repeat(mebibyte - 4), b: 'é' }, binaryData: { c: 'AAAA' } },
    want: ['[]: Too long: may not be more than 1048576 bytes'],
  },
];
for (const { name, given, want } of creations) {
  test(`create: ${name}`, () => {
    const errors = configMapKind.validateCreate({ metadata, ...given }, context);
    assert.deepEqual(
      errors.map(({ path, body }) => `${path}: ${body}`),
      want,
    );
  });
}

const frozen: ConfigMap = { metadata, data: { a: '1', b: '2' }, immutable: true };
const why = 'Forbidden: field is immutable when `immutable` is set';
const updates: readonly { name: string; given: Partial<ConfigMap>; want: readonly string[] }[] = [
  { name: 'labels may change', given: { data: { b: '2', a: '1' }, immutable: true }, want: [] },
  { name: 'values may not change', given: { data: { a: '2', b: '2' }, immutable: true }, want: [`data: ${why}`] },
  {
    name: 'keys may not be added',
    given: { data: frozen.data ?? {}, binaryData: { c: '' }, immutable: true },
    want: [`binaryData: ${why}`],
  },
  {
    name: 'immutable may not be unset',
    given: { data: frozen.data ?? {}, immutable: false },
    want: [`immutable: ${why}`],
  },
];
for (const { name, given, want } of updates) {
  test(`an immutable ConfigMap: ${name}`, () => {
    const errors = configMapKind.validateUpdate({ metadata, ...given }, frozen, context);
    assert.deepEqual(
      errors.map(({ path, body }) => `${path}: ${body}`),
      want,
    );
  });
}

test('the Data column counts both maps', () => {
  const cells = configMapKind.columns.map((column) =>
    column.cell({ metadata, data: { a: '' }, binaryData: { b: '' } }, 0),
  );
  assert.deepEqual(cells, ['settings', 2, '<unknown>']);
});
