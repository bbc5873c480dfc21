import assert from 'node:assert/strict';
import { test } from 'node:test';

import { testServer } from '../testing/server.ts';
import { expireEvents } from './event-expiry.ts';

const events = '/api/v1/namespaces/default/events';
const hour = 3_600_000;

test('deletes Events one hour after their last occurrence', async () => {
  await using server = await testServer();
  const now = Date.now();
  const at = (ms: number): string => `${new Date(now + ms).toISOString().slice(0, 19)}Z`;
  const involvedObject = { kind: 'Pod', name: 'a', namespace: 'default' };
  const table: readonly [name: string, content: object][] = [
    ['once', {}],
    ['again', { lastTimestamp: at(hour / 2) }],
    ['series', { series: { count: 3, lastObservedTime: at(hour).replace('Z', '.000000Z') } }],
  ];
  for (const [name, content] of table) {
    const { status, text } = await server.ask('POST', events, {
      body: { metadata: { name }, involvedObject, ...content },
    });
    assert.equal(status, 201, text);
  }
  const left = async (ms: number): Promise<string[]> => {
    await expireEvents({ ...server.context, clock: () => now + ms });
    const { body } = await server.ask('GET', events);
    return body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  };
  assert.deepEqual(await left(hour - 2000), ['again', 'once', 'series']);
  assert.deepEqual(await left(hour + 2000), ['again', 'series']);
  assert.deepEqual(await left(1.5 * hour + 2000), ['series']);
  assert.deepEqual(await left(2 * hour + 2000), []);
});
