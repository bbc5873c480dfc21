import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { Choice } from './accept.ts';
import { encodingOf, negotiate } from './accept.ts';

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const metadata = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const object: Choice = { as: 'object', version: 'v1' };

suite('the representation for an Accept header', () => {
  const rows: readonly [accept: string | undefined, want: Choice][] = [
    [undefined, object],
    ['', object],
    ['*/*', object],
    ['application/*', object],
    ['application/json', object],
    ['application/json;charset=utf-8', object],
    ['Application/JSON', object],
    ['application/yaml', object],
    ['application/vnd.kubernetes.protobuf', object],
    ['application/vnd.kubernetes.protobuf,application/json', object],
    ['text/html, */*;q=0.1', object],
    [table, { as: 'table', version: 'v1' }],
    ['application/json; as=Table; v=v1beta1; g=meta.k8s.io', { as: 'table', version: 'v1beta1' }],
    [`${table},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`, { as: 'table', version: 'v1' }],
    [`${table};q=0.1, application/json`, object],
    [`application/json;q=0.5,${table};q=0.9`, { as: 'table', version: 'v1' }],
    [metadata, { as: 'metadata', version: 'v1' }],
    [
      `application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,${metadata}`,
      { as: 'metadata', version: 'v1' },
    ],
    // Clauses that the endpoint does not support are skipped.
    ['application/json;as=Table;v=v2;g=meta.k8s.io,application/json', object],
    ['application/json;as=Table;v=v1;g=example.org,application/json', object],
    ['application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json', object],
    ['application/json;as=Nothing;v=v1;g=meta.k8s.io,application/json', object],
  ];
  for (const [accept, want] of rows) {
    test(String(accept), () => assert.deepEqual(negotiate(accept, ['table', 'metadata']), want));
  }
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
        () => negotiate(accept, ['table', 'metadata']),
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
  const rows: readonly [accept: string | undefined, want: 'json' | 'yaml'][] = [
    [undefined, 'json'],
    ['application/yaml', 'yaml'],
    ['text/html, application/yaml', 'yaml'],
    ['application/json, application/yaml', 'json'],
    ['application/json;q=0.1, application/yaml', 'yaml'],
    ['application/vnd.kubernetes.protobuf, application/yaml', 'json'],
    ['text/yaml', 'json'],
  ];
  for (const [accept, want] of rows) test(String(accept), () => assert.equal(encodingOf(accept), want));
});
