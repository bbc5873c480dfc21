import assert from 'node:assert/strict';
import { test } from 'node:test';

import { toYaml } from './write-yaml.ts';

test('YAML is written in the style of Kubernetes', () => {
  const status = { kind: 'Status', code: 404, metadata: {}, details: { name: '5', items: ['a', { b: 'yes' }] } };
  assert.equal(
    toYaml(status),
    'code: 404\ndetails:\n  items:\n  - a\n  - b: "yes"\n  name: "5"\nkind: Status\nmetadata: {}\n',
  );
});
