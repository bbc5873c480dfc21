import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { Choice, Encoding } from './accept.ts';
import { encodingOf, negotiate } from './accept.ts';

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const metadata = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const object: Choice = { as: 'object', version: 'v1', encoding: 'json' };
const protobuf: Choice = { ...object, encoding: 'protobuf' };
const tableChoice: Choice = { ...object, as: 'table' };
const metadataChoice: Choice = { ...object, as: 'metadata' };
const support = { transformations: ['table', 'metadata'], protobuf: true } as const;

suite('the representation for an Accept header', () => {
  const rows: readonly [accept: string | undefined, want: Choice][] = [
    [undefined, object],
    ['', object],
    ['*/*', object],
    ['application/*', object],
    ['application/json', object],
    ['application/json;charset=utf-8', object],
    ['Application/JSON', object],
    ['application/yaml', { ...object, encoding: 'yaml' }],
    ['application/vnd.kubernetes.protobuf', protobuf],
    ['application/vnd.kubernetes.protobuf,application/json', protobuf],
    ['application/json,application/vnd.kubernetes.protobuf', object],
    ['text/html, */*;q=0.1', object],
    [table, tableChoice],
    ['application/json; as=Table; v=v1beta1; g=meta.k8s.io', { ...tableChoice, version: 'v1beta1' }],
    [`${table},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`, tableChoice],
    [`${table};q=0.1, application/json`, object],
    [`application/json;q=0.5,${table};q=0.9`, tableChoice],
    [metadata, metadataChoice],
    [
      `application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,${metadata}`,
      { ...metadataChoice, encoding: 'protobuf' },
    ],
    // Clauses that the endpoint does not support are skipped; tables have no protobuf encoding.
    [`application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1,${table}`, tableChoice],
    ['application/json;as=Table;v=v2;g=meta.k8s.io,application/json', object],
    ['application/json;as=Table;v=v1;g=example.org,application/json', object],
    ['application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json', object],
    ['application/json;as=Nothing;v=v1;g=meta.k8s.io,application/json', object],
  ];
  for (const [accept, want] of rows) {
    test(String(accept), () => assert.deepEqual(negotiate(accept, support), want));
  }
});

test('custom resources have protobuf only for metadata', () => {
  const custom = { ...support, protobuf: false };
  assert.deepEqual(negotiate('application/vnd.kubernetes.protobuf,application/json', custom), object);
  assert.throws(() => negotiate('application/vnd.kubernetes.protobuf', custom), /only the following media types/);
  const partial = 'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
  assert.equal(negotiate(partial, custom).encoding, 'protobuf');
});

suite('Accept headers without a supported clause', () => {
  const types = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';
  const rows: readonly [accept: string, message: string][] = [
    ['text/html', `406: Not Acceptable\n\nAvailable representations: ${types}`],
    ['application/json;as=Table;v=v1;g=example.org', `only the following media types are accepted: ${types}`],
    [
      'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
      `only the following media types are accepted: ${types}`,
    ],
  ];
  for (const [accept, message] of rows) {
    test(accept, () =>
      assert.throws(
        () => negotiate(accept, support),
        (error: Error & { status?: { code: number; reason: string } }) => {
          assert.equal(error.status?.code, 406);
          assert.equal(error.status.reason, 'NotAcceptable');
          assert.equal(error.message, message);
          return true;
        },
      ),
    );
  }
});

suite('the encoding for an Accept header', () => {
  const rows: readonly [accept: string | undefined, want: Encoding][] = [
    [undefined, 'json'],
    ['application/yaml', 'yaml'],
    ['text/html, application/yaml', 'yaml'],
    ['application/json, application/yaml', 'json'],
    ['application/json;q=0.1, application/yaml', 'yaml'],
    ['application/vnd.kubernetes.protobuf, application/yaml', 'protobuf'],
    ['application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1, application/json', 'json'],
    ['text/yaml', 'json'],
  ];
  for (const [accept, want] of rows) test(String(accept), () => assert.equal(encodingOf(accept), want));
});
