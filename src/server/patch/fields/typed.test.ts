import assert from 'node:assert/strict';
import { test } from 'node:test';

import { serviceKind } from '../../../api/kinds/core/service/kind.ts';
import { typeErrors } from './typed.ts';

const fields = (count: number): Record<string, unknown> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`u${index}`, 1]));

test('lists the first 100 problems', () => {
  const errors = typeErrors({ metadata: { labels: fields(30_000) }, spec: fields(30_000) }, serviceKind.schema);
  assert.equal(errors.length, 100);
  assert.equal(errors[99], '.metadata.labels.u99: expected string, got &value.valueUnstructured{Value:1}');
});

test('truncates long paths and values', () => {
  const port = { port: 80, protocol: 'x'.repeat(1_000_000), ...fields(50_000) };
  const errors = typeErrors({ metadata: { name: [port] }, spec: { ports: [port, port] } }, serviceKind.schema);
  assert.equal(errors.length, 100);
  for (const error of errors) assert.ok(error.length < 5000);
});
