import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import { openEtcdStore } from '../store/etcd/etcd.ts';
import { openMemoryStore } from '../store/memory/memory.ts';
import { until } from './testing/until.ts';
import type { TestServer, TestWatch } from './testing/server.ts';
import { testServer } from './testing/server.ts';

// A client that lists and then watches has the same objects as a new list, for any selector, any start revision and any
// writes in between.

const limits = { numRuns: 1_000_000, interruptAfterTimeLimit: Number(process.env['FAIRLEAD_FUZZ_MS'] ?? 500) };

interface Stored {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion: string };
}

const write = fc.record({
  what: fc.constantFrom('create', 'create', 'label', 'type', 'delete', 'collection', 'same'),
  namespace: fc.constantFrom('one', 'two'),
  name: fc.constantFrom('a', 'b', 'c'),
  app: fc.constantFrom('x', 'y'),
  type: fc.constantFrom('ClusterIP', 'NodePort'),
});

type Write = typeof write extends fc.Arbitrary<infer T> ? T : never;

const selections = [
  { namespace: '', query: '' },
  { namespace: 'one', query: '' },
  { namespace: '', query: 'labelSelector=app%3Dx' },
  { namespace: 'two', query: 'labelSelector=app+notin+(x)' },
  { namespace: '', query: 'labelSelector=!app' },
  { namespace: '', query: 'fieldSelector=spec.type%3DNodePort' },
  { namespace: 'one', query: 'fieldSelector=metadata.name%3Da' },
  { namespace: '', query: 'fieldSelector=metadata.name%3Da&labelSelector=app%3Dx' },
  { namespace: '', query: 'fieldSelector=metadata.namespace!%3Done' },
] as const;

const watcher = fc.record({
  selection: fc.constantFrom(...selections),
  /** Lists after this many writes … */
  listAt: fc.nat({ max: 20 }),
  /** … and watches after this many more. */
  watchLater: fc.nat({ max: 10 }),
  how: fc.constantFrom('list', 'pages', 'initial'),
});

type Choice = typeof watcher extends fc.Arbitrary<infer T> ? T : never;

const pathOf = ({ namespace, query }: Choice['selection'], more: string): string =>
  `/api/v1/${namespace === '' ? '' : `namespaces/${namespace}/`}services?${[query, more].filter(Boolean).join('&')}`;

/** A client's copy of the selected objects. */
class Copy {
  readonly #server: TestServer;
  readonly #choice: Choice;
  readonly #objects = new Map<string, Stored>();
  #revision = 0;
  #watch: TestWatch | undefined;

  constructor(server: TestServer, choice: Choice) {
    this.#server = server;
    this.#choice = choice;
  }

  /** Lists or watches if that is due after `count` writes. */
  async step(count: number): Promise<void> {
    const { listAt, watchLater, how, selection } = this.#choice;
    if (how !== 'initial' && count === listAt) await this.#list(how === 'pages' ? '2' : '0');
    if (count !== listAt + watchLater) return;
    const from = how === 'initial' ? '' : `resourceVersion=${this.#revision}`;
    this.#watch = await this.#server.watch(pathOf(selection, ['watch=1', from].filter(Boolean).join('&')));
  }

  async #list(limit: string): Promise<void> {
    let token = '';
    do {
      const { body } = await this.#server.ask(
        'GET',
        pathOf(this.#choice.selection, `limit=${limit}&continue=${token}`),
      );
      for (const item of body.items as Stored[]) this.#objects.set(keyOf(item), item);
      this.#revision = Number(body.metadata.resourceVersion);
      token = body.metadata.continue ?? '';
    } while (token !== '');
  }

  /** Asserts that the copy after all events equals a list. */
  async check(): Promise<void> {
    if (this.#watch === undefined) return;
    const { body } = await this.#server.ask('GET', pathOf(this.#choice.selection, ''));
    const listed = new Map((body.items as Stored[]).map((item) => [keyOf(item), item]));
    const newest = Math.max(0, ...[...listed.values()].map(({ metadata }) => Number(metadata.resourceVersion)));
    const { events } = this.#watch;
    // Deletions leave no trace in a list, so every selector gets a marker object last, see below.
    await until('the watch has come so far', () =>
      events.some(({ object }) => Number(object.metadata.resourceVersion) >= newest),
    );
    const isInitial = this.#choice.how === 'initial';
    let previous = isInitial ? 0 : this.#revision;
    for (const { type, object } of events)
      this.#take(type, object, (revision) => {
        // Initial objects come in the order of their keys.
        if (!isInitial) assert.ok(revision > previous, `${revision} after ${previous}`);
        previous = revision;
      });
    assert.deepEqual(sorted(this.#objects), sorted(listed));
    this.#watch.close();
  }

  #take(type: string, object: Stored, onRevision: (revision: number) => void): void {
    const key = keyOf(object);
    onRevision(Number(object.metadata.resourceVersion));
    assert.equal(this.#objects.has(key), type !== 'ADDED', `${type} of ${key}`);
    if (type === 'DELETED') this.#objects.delete(key);
    else this.#objects.set(key, object);
  }
}

const keyOf = ({ metadata }: Stored): string => `${metadata.namespace}/${metadata.name}`;

const sorted = (objects: ReadonlyMap<string, Stored>): unknown =>
  [...objects].map(([key, { metadata }]) => `${key} ${metadata.resourceVersion}`).toSorted();

async function perform(server: TestServer, { what, namespace, name, app, type }: Write): Promise<void> {
  const services = `/api/v1/namespaces/${namespace}/services`;
  const path = `${services}/${name}`;
  const merge = (body: unknown): Promise<unknown> =>
    server.ask('PATCH', path, { body, type: 'application/merge-patch+json' });
  switch (what) {
    case 'create':
      await server.ask('POST', services, { body: service(name, app, type) });
      return;
    case 'label':
      await merge({ metadata: { labels: { app: app === 'x' ? null : app } } });
      return;
    case 'type':
      await merge({ spec: { type } });
      return;
    case 'same':
      await merge({});
      return;
    case 'delete':
      await server.ask('DELETE', path);
      return;
    case 'collection':
      await server.ask('DELETE', `${services}?labelSelector=app%3D${app}`);
  }
}

const service = (name: string, app: string, type: string): unknown => ({
  metadata: { name, labels: { app } },
  spec: { type, ports: [{ port: 80 }] },
});

/** Writes that every selector matches, to detect the end of a watch. */
async function mark(server: TestServer): Promise<void> {
  for (const namespace of ['one', 'two']) {
    const services = `/api/v1/namespaces/${namespace}/services`;
    for (const name of ['a', 'b', 'c']) await server.ask('DELETE', `${services}/${name}`);
    await server.ask('POST', services, { body: service('a', 'x', 'NodePort') });
    await server.ask('POST', services, { body: service('b', 'y', 'NodePort') });
    await server.ask('POST', services, { body: { metadata: { name: 'c' }, spec: { ports: [{ port: 80 }] } } });
  }
}

test('a list plus the following events equals the next list, for every selector and start revision', async () => {
  await using stack = new AsyncDisposableStack();
  const etcd = process.env['FAIRLEAD_TEST_ETCD'];
  const store =
    etcd === undefined
      ? openMemoryStore()
      : await openEtcdStore({ endpoints: etcd.split(','), prefix: '/consistency' });
  stack.use(store);
  const server = stack.use(await testServer({ store }));
  for (const name of ['one', 'two']) await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name } } });
  await fc.assert(
    fc.asyncProperty(
      fc.array(write, { maxLength: 30 }),
      fc.array(watcher, { minLength: 1, maxLength: 6 }),
      async (writes, choices) => {
        const copies = choices.map((choice) => new Copy(server, choice));
        for (const copy of copies) await copy.step(0);
        for (const [index, one] of writes.entries()) {
          await perform(server, one);
          for (const copy of copies) await copy.step(index + 1);
        }
        await mark(server);
        for (const copy of copies) await copy.check();
      },
    ),
    limits,
  );
});
