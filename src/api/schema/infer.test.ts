import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Infer } from './infer.ts';
import { always, int32, list, map, oneOf, optional, pointer, string, struct } from './schema.ts';

const port = struct('test.Port', 'A port.', {
  name: optional(1, string, 'Its name.'),
  protocol: optional(2, oneOf('TCP', 'UDP'), 'Its protocol.'),
  port: always(3, int32, 'Its number.'),
});
const thing = struct('test.Thing', 'A thing.', {
  ports: always(1, list(port), 'Its ports.'),
  labels: pointer(2, map(string), 'Its labels.'),
});

test('inferred types match the schema', () => {
  const value: Infer<typeof thing> = { ports: [{ port: 80, protocol: 'UDP' }], labels: { a: 'b' } };
  const empty: Infer<typeof thing> = { ports: null };
  // @ts-expect-error 'SCTP' is not one of the words
  const wrong: Infer<typeof port> = { port: 1, protocol: 'SCTP' };
  assert.equal(value.ports?.[0]?.protocol, 'UDP');
  assert.equal(empty.ports, null);
  assert.equal(wrong.port, 1);
});
