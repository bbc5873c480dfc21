import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EtcdClient } from './client.ts';

test('two users that leave a member at the same time do not return to it', () => {
  const endpoints = ['http://127.0.0.1:1', 'http://127.0.0.1:2'];
  using client = new EtcdClient({ endpoints });
  for (const url of [endpoints[0], endpoints[0]]) client.leave(url ?? '');
  assert.equal(client.url, endpoints[1]);
  client.leave(endpoints[1] ?? '');
  assert.equal(client.url, endpoints[0]);
});
