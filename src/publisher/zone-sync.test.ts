import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { Registry } from 'prom-client';

import { systemClock } from '../client/clock.ts';
import { DeletionLimiter } from '../client/deletion-limiter.ts';
import type { Name } from '../dnswire/data.ts';
import { PublisherMetrics } from './metrics.ts';
import { contentAfter } from './plan/changes.ts';
import { DesiredIndex } from './plan/desired-index.ts';
import type { ZoneContent } from './plan/record-set.ts';
import { claim, zoneOf } from './plan/testing/objects.ts';
import type { Provider } from './providers/provider.ts';
import { ProviderError } from './providers/provider.ts';
import { Reporter } from './reporter.ts';
import { ZoneSync } from './zone-sync.ts';

const zone = 'example.org';
const registry = { ownerId: 'me', prefix: '', suffix: '', wildcardReplacement: '' };
const log = pino({ level: 'silent' });
const { signal } = new AbortController();

/** A zone in memory, and a sync that makes it as it is to be. */
function stand() {
  const index = new DesiredIndex({ zones: [zone], filter: { include: [], exclude: [] }, registry });
  const state: { content: ZoneContent; readError?: string; onRead: () => void } = {
    content: new Map(),
    onRead: () => undefined,
  };
  const provider: Provider = {
    zones: async () => [zone],
    async read() {
      state.onRead();
      if (state.readError !== undefined) throw new ProviderError(state.readError);
      return { content: state.content, changed: undefined };
    },
    async apply(_, changes) {
      state.content = contentAfter(state.content, changes);
      return [];
    },
    async [Symbol.asyncDispose]() {},
  };
  const sync = new ZoneSync({
    zone,
    provider,
    desiredState: () => ({
      desired: index.zones.get(zone) ?? new Map(),
      kept: { resources: index.kept, allImports: false },
    }),
    limiter: new DeletionLimiter(systemClock),
    reporter: new Reporter({ log, recorder: { record: () => undefined }, sources: { find: () => undefined } }),
    metrics: new PublisherMetrics(new Registry()),
    registry,
    policy: 'sync',
    isDryRun: false,
    intervalMs: 60_000,
    log,
    clock: systemClock,
  });
  /** Changes what is to exist, as an informer does at any time. */
  const publish = (key: string, text: string): void => {
    const changed = index.update(
      new Map([[key, claim([...zoneOf(text).values()].flat(), { resource: `service/${key}` })]]),
    );
    for (const names of changed.values()) sync.mark(names);
  };
  const addressOf = (name: Name): string | undefined =>
    state.content
      .get(name)
      ?.find(({ type }) => type === 'A')
      ?.values.join();
  return { sync, state, publish, addressOf };
}

test('a name that changes while its zone is planned is planned again', async () => {
  const { sync, state, publish, addressOf } = stand();
  for (let index = 0; index < 3000; index++) publish(`default/s-${index}`, `s-${index}.example.org 60 A 192.0.2.1`);
  await sync.sync(signal);
  assert.equal(addressOf('s-0.example.org'), '192.0.2.1');
  sync.mark(['s-0.example.org']);
  // The names are planned in portions: this runs between the first and the last.
  state.onRead = () => setImmediate(() => publish('default/s-0', 's-0.example.org 60 A 192.0.2.2'));
  assert.deepEqual(await sync.sync(signal), { requeueAfterMs: 0 });
  state.onRead = () => undefined;
  assert.equal(addressOf('s-0.example.org'), '192.0.2.1');
  await sync.sync(signal);
  assert.equal(addressOf('s-0.example.org'), '192.0.2.2');
});

test('a change is applied by the first sync that can read the zone', async () => {
  const { sync, state, publish, addressOf } = stand();
  await sync.sync(signal);
  publish('default/shop', 'shop.example.org 60 A 192.0.2.1');
  state.readError = 'no answer';
  await assert.rejects(sync.sync(signal), /no answer/);
  assert.equal(sync.problem, 'zone example.org: no answer');
  delete state.readError;
  await sync.sync(signal);
  assert.equal(addressOf('shop.example.org'), '192.0.2.1');
  assert.equal(sync.problem, undefined);
});
