import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WriteContext } from '../../../kind.ts';
import { secretKind } from './kind.ts';
import type { Secret } from './schema.ts';

const context: WriteContext = { gates: { enabled: () => false }, loopbackEndpoints: [] };
const metadata = { name: 'keys', namespace: 'shop' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

test('moves stringData into data, where it replaces existing keys', () => {
  const made = secretKind.applyDefaults({
    metadata,
    data: { a: base64('old'), b: base64('b') },
    stringData: { a: 'new' },
  });
  assert.deepEqual(made, { metadata, data: { a: base64('new'), b: base64('b') }, type: 'Opaque' });
});

const types: readonly { type: string; data?: Record<string, string>; annotated?: boolean; want: readonly string[] }[] =
  [
    { type: 'Opaque', want: [] },
    { type: 'example.org/any', want: [] },
    { type: 'kubernetes.io/tls', want: ['data[tls.crt]: Required value', 'data[tls.key]: Required value'] },
    { type: 'kubernetes.io/tls', data: { 'tls.crt': '', 'tls.key': '' }, want: [] },
    { type: 'kubernetes.io/basic-auth', want: ['data[username]: Required value', 'data[password]: Required value'] },
    { type: 'kubernetes.io/basic-auth', data: { username: '' }, want: [] },
    { type: 'kubernetes.io/ssh-auth', data: { 'ssh-privatekey': '' }, want: ['data[ssh-privatekey]: Required value'] },
    { type: 'kubernetes.io/dockerconfigjson', want: ['data[.dockerconfigjson]: Required value'] },
    { type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': base64('{}') }, want: [] },
    {
      type: 'kubernetes.io/dockercfg',
      data: { '.dockercfg': base64('secret') },
      want: [
        `data[.dockercfg]: Invalid value: "<secret contents redacted>": invalid character 's' looking for beginning of value`,
      ],
    },
    {
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': base64('1') },
      want: [
        'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": json: cannot unmarshal number into Go value of type map[string]interface {}',
      ],
    },
    {
      type: 'kubernetes.io/service-account-token',
      want: ['metadata.annotations[kubernetes.io/service-account.name]: Required value'],
    },
    { type: 'kubernetes.io/service-account-token', annotated: true, want: [] },
  ];
for (const { type, data, annotated, want } of types) {
  test(`type ${type} with ${Object.keys(data ?? {}).join(', ') || 'no keys'}${annotated ? ', annotated' : ''}`, () => {
    const annotations = annotated ? { annotations: { 'kubernetes.io/service-account.name': 'default' } } : {};
    const given: Secret = { metadata: { ...metadata, ...annotations }, type, ...(data && { data }) };
    assert.deepEqual(
      secretKind.validateCreate(given, context).map(({ path, body }) => `${path}: ${body}`),
      want,
    );
  });
}

test('the type cannot be changed', () => {
  const errors = secretKind.validateUpdate({ metadata, type: 'b' }, { metadata, type: 'a' }, context);
  assert.deepEqual(
    errors.map(({ path, body }) => `${path}: ${body}`),
    ['type: Invalid value: "b": field is immutable'],
  );
});

test('limits the decoded values to a mebibyte', () => {
  const size = (bytes: number): readonly string[] =>
    secretKind
      .validateCreate({ metadata, type: 'Opaque', data: { a: Buffer.alloc(bytes).toString('base64') } }, context)
      .map(({ path, body }) => `${path}: ${body}`);
  assert.deepEqual(size(1024 * 1024), []);
  assert.deepEqual(size(1024 * 1024 + 1), ['data: Too long: may not be more than 1048576 bytes']);
});
