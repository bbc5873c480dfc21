import assert from 'node:assert/strict';
import { test } from 'node:test';

import { eventKind } from '../../api/kinds/core/event/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { eventsEventKind } from '../../api/kinds/events/event/kind.ts';
import { encodeObject } from '../../api/schema/protobuf.ts';
import { valueOfBytes } from '../../store/bytes.ts';
import { layoutOf, serialise } from './layout.ts';
import { storedForm } from './stored-form.ts';

const web = {
  metadata: { name: 'web', namespace: 'shop', uid: 'u', labels: { größe: '日本 😀' } },
  spec: { ports: [{ port: 80 }], clusterIP: '10.0.0.1' },
  status: { loadBalancer: {} },
};
const layout = layoutOf(serviceKind);
const ours = serialise(layout, serviceKind.applyDefaults(web));
const type = { apiVersion: 'v1', kind: 'Service' };
const protobuf = (content: object = web, as = type): string =>
  valueOfBytes(encodeObject(as, serviceKind.schema, content));
const read = (value: string): string => storedForm(serviceKind, layout, value);

test('the value of a server is returned as it is', () => {
  assert.equal(read(ours), ours);
});

test('the protobuf of a kube-apiserver is decoded, with the defaults of its kind', () => {
  assert.equal(read(protobuf()), ours);
  const ascii = protobuf({ ...web, metadata: { name: 'web', namespace: 'shop' } });
  assert.match(ascii, /^k8s\0/, 'it may be text');
  assert.match(read(ascii), /^\{"kind":"Service","apiVersion":"v1","metadata":\{"name":"web",/);
});

test('JSON in another order or with white space is read', () => {
  for (const value of [`${JSON.stringify({ ...web, ...type })}\n`, `${ours}\n`]) {
    assert.ok(read(value).startsWith(layout.head));
    assert.deepEqual(JSON.parse(read(value)), JSON.parse(ours));
  }
});

test('another version of the kind is converted', () => {
  const event = {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'e', namespace: 'shop' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    regarding: { kind: 'Pod', name: 'p' },
    note: 'started',
  };
  assert.equal(eventsEventKind.storage?.kind, eventKind);
  const stored = JSON.parse(storedForm(eventKind, layoutOf(eventKind), JSON.stringify(event))) as typeof event;
  assert.deepEqual(
    [stored.apiVersion, Reflect.get(stored, 'message'), Reflect.get(stored, 'involvedObject')],
    ['v1', 'started', { kind: 'Pod', name: 'p' }],
  );
});

const rejected: readonly (readonly [name: string, value: string, message: RegExp])[] = [
  ['another kind', protobuf(web, { apiVersion: 'v1', kind: 'Pod' }), /^v1 Pod cannot be read as Service$/],
  [
    'an unknown version',
    protobuf(web, { apiVersion: 'v9', kind: 'Service' }),
    /^v9 Service cannot be read as Service$/,
  ],
  ['a truncated message', protobuf().slice(0, -20), /./],
  ['an encrypted value', 'k8s:enc:aesgcm:v1:key1:AAAA', /^identity transformer tried to read encrypted data$/],
  [
    'an encrypted value of a kube-apiserver',
    valueOfBytes(Buffer.from('k8s:enc:aesgcm:v1:key1:\u0080\u00ff', 'latin1')),
    /^identity transformer tried to read encrypted data$/,
  ],
  ['nothing', '', /does not appear to be a protobuf message/],
  ['a number', '{"kind":7}', /^undefined 7 cannot be read as Service$/],
  ['half of an object', '{"kind":', /JSON/],
];
for (const [name, value, message] of rejected) {
  test(`${name} is rejected`, () => {
    assert.throws(() => read(value), { message });
  });
}
