import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { openMemoryStore } from '../../store/memory/memory.ts';
import type { Store, WatchObserver } from '../../store/store.ts';
import type { Answer, TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { until } from '../testing/until.ts';

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const group = 'shared.example.com';
const widgets = `/apis/${group}/v1/namespaces/default/widgets`;

const definition = (plural: string, kind: string, spec: object = {}): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, kind },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: spec } } } },
      },
    ],
  },
});

const widget = (name: string, spec: object = {}): object => ({
  apiVersion: `${group}/v1`,
  kind: 'Widget',
  metadata: { name },
  spec,
});

/** One server's access to a store that others write to too. Its watch and its reads of a prefix can be held back. */
class SharedView {
  readonly store: Store;
  #held: (() => void)[] | undefined;
  #resumed = Promise.withResolvers<void>();
  #slowPrefix: string | undefined;
  #isReading = Promise.withResolvers<void>();

  constructor(base: Store) {
    const watch: Store['watch'] = (prefix, from, observer, signal) =>
      base.watch(prefix, from, this.#delayed(observer), signal);
    const range: Store['range'] = async (prefix, options) => {
      const found = await base.range(prefix, options);
      if (prefix === this.#slowPrefix) {
        this.#isReading.resolve();
        await this.#resumed.promise;
      }
      return found;
    };
    const sync = async (): Promise<void> => (this.#held === undefined ? undefined : this.#resumed.promise);
    const own = { isShared: true, watch, range, sync };
    this.store = new Proxy(base, {
      get(target, name) {
        const value: unknown = Reflect.get(name in own ? own : target, name, name in own ? own : target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  }

  /** Delivers changes only after `resume`. */
  pause(): void {
    this.#held = [];
    this.#resumed = Promise.withResolvers();
  }

  /** Answers reads of a prefix, with what was stored when they were made, only after `resume`. */
  pauseReads(prefix: string): Promise<void> {
    this.#slowPrefix = prefix;
    this.#resumed = Promise.withResolvers();
    this.#isReading = Promise.withResolvers();
    return this.#isReading.promise;
  }

  resume(): void {
    for (const deliver of this.#held ?? []) deliver();
    this.#held = undefined;
    this.#slowPrefix = undefined;
    this.#resumed.resolve();
  }

  #delayed(observer: WatchObserver): WatchObserver {
    return {
      onEnd: (error) => observer.onEnd(error),
      onChanges: (changes, revision) => {
        if (this.#held === undefined) observer.onChanges(changes, revision);
        else this.#held.push(() => observer.onChanges(changes, revision));
      },
    };
  }
}

interface Shared extends AsyncDisposable {
  readonly base: Store;
  readonly first: TestServer;
  readonly second: TestServer;
  /** The store as the second server sees it. */
  readonly view: SharedView;
}

async function twoServers(): Promise<Shared> {
  await using stack = new AsyncDisposableStack();
  const base = stack.use(openMemoryStore());
  const view = new SharedView(base);
  const first = stack.use(await testServer({ store: new SharedView(base).store }));
  const second = stack.use(await testServer({ store: view.store }));
  const held = stack.move();
  return { base, first, second, view, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

const created = ({ status, text }: Answer): void => assert.equal(status, 201, text);

const isEstablished = async (server: TestServer, name: string): Promise<boolean> => {
  const { body } = await server.ask('GET', `${crds}/${name}.${group}`);
  const conditions: readonly { readonly type: string; readonly status: string }[] = body.status?.conditions ?? [];
  return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
};

async function install(server: TestServer, plural = 'widgets', kind = 'Widget', spec: object = {}): Promise<void> {
  created(await server.ask('POST', crds, { body: definition(plural, kind, spec) }));
  await until('the definition is established', () => isEstablished(server, plural));
}

/** The names and revisions of the objects in a list. */
async function listed(server: TestServer): Promise<readonly string[]> {
  const { body } = await server.ask('GET', widgets);
  const items: readonly { metadata: { name: string; resourceVersion: string } }[] = body.items;
  return items.map(({ metadata: { name, resourceVersion } }) => `${name}@${resourceVersion}`);
}

suite('two servers over one store', () => {
  test('both serve a definition and its objects, created at either', async () => {
    await using shared = await twoServers();
    const { first, second } = shared;
    await install(first);
    created(await second.ask('POST', widgets, { body: widget('a') }));
    created(await first.ask('POST', widgets, { body: widget('b') }));
    assert.deepEqual(await listed(first), await listed(second));
    assert.equal((await listed(first)).length, 2);
    const paths = ['/apis', `/apis/${group}/v1`, `/openapi/v3/apis/${group}/v1`];
    for (const path of paths)
      assert.equal((await first.ask('GET', path)).text, (await second.ask('GET', path)).text, path);
  });

  test('a changed schema is used at both', async () => {
    await using shared = await twoServers();
    const { first, second } = shared;
    await install(first);
    const { spec } = definition('widgets', 'Widget', { size: { type: 'integer', default: 3 } }) as { spec: object };
    const patch = { type: 'application/merge-patch+json', body: { spec } };
    assert.equal((await second.ask('PATCH', `${crds}/widgets.${group}`, patch)).status, 200);
    for (const [server, name] of [
      [first, 'a'],
      [second, 'b'],
    ] as const) {
      await until('the schema is used', async () => {
        const answer = await server.ask('POST', `${widgets}?dryRun=All`, { body: widget(name) });
        return answer.body.spec?.size === 3;
      });
    }
  });

  test('a definition that is deleted at one disappears with its objects at both', async () => {
    await using shared = await twoServers();
    const { base, first, second } = shared;
    await install(first);
    for (let index = 0; index < 20; index++)
      created(await (index % 2 === 0 ? first : second).ask('POST', widgets, { body: widget(`w${index}`) }));
    assert.equal((await second.ask('DELETE', `${crds}/widgets.${group}`)).status, 200);
    for (const server of [first, second])
      await until('it is gone', async () => (await server.ask('GET', widgets)).status === 404);
    assert.deepEqual((await base.range(`/registry/${group}/`)).entries, []);
    assert.equal((await first.ask('GET', `${crds}/widgets.${group}`)).status, 404);
  });

  test('a server that has not received the deletion of a definition creates no objects that would remain', async () => {
    await using shared = await twoServers();
    const { base, first, second, view } = shared;
    await install(first);
    await until('the second server serves it', async () => (await second.ask('GET', widgets)).status === 200);
    view.pause();
    assert.equal((await first.ask('DELETE', `${crds}/widgets.${group}`)).status, 200);
    await until('it is gone', async () => (await first.ask('GET', widgets)).status === 404);
    const late = second.ask('POST', widgets, { body: widget('late') });
    await new Promise(setImmediate);
    view.resume();
    const { status, body } = await late;
    assert.deepEqual([status, body.message], [404, 'the server could not find the requested resource']);
    assert.deepEqual((await base.range(`/registry/${group}/`)).entries, []);
  });

  test('a server that has not received a deletion refuses objects while the others are being deleted', async () => {
    await using shared = await twoServers();
    const { first, second, view } = shared;
    await install(first);
    const held = { ...widget('held'), metadata: { name: 'held', finalizers: ['example.com/hold'] } };
    created(await second.ask('POST', widgets, { body: held }));
    view.pause();
    assert.equal((await first.ask('DELETE', `${crds}/widgets.${group}`)).status, 200);
    const late = second.ask('POST', widgets, { body: widget('late') });
    await new Promise(setImmediate);
    view.resume();
    assert.equal((await late).status, 405);
    const patch = { type: 'application/merge-patch+json', body: { metadata: { finalizers: null } } };
    assert.equal((await first.ask('PATCH', `${widgets}/held`, patch)).status, 200);
    await until('it is gone', async () => (await second.ask('GET', widgets)).status === 404);
  });

  test('changes while a server loads the objects of a definition are in its lists and watches', async () => {
    await using shared = await twoServers();
    const { first, second, view } = shared;
    const isReading = view.pauseReads(`/registry/${group}/widgets/`);
    await install(first);
    for (const name of ['kept', 'changed', 'deleted']) {
      created(await first.ask('POST', widgets, { body: widget(name) }));
    }
    await isReading;
    const patch = { type: 'application/merge-patch+json', body: { metadata: { labels: { x: 'y' } } } };
    assert.equal((await first.ask('PATCH', `${widgets}/changed`, patch)).status, 200);
    assert.equal((await first.ask('DELETE', `${widgets}/deleted`)).status, 200);
    created(await first.ask('POST', widgets, { body: widget('new') }));
    view.resume();
    await until('the second server serves it', async () => (await second.ask('GET', widgets)).status === 200);
    assert.deepEqual(await listed(second), await listed(first));
    assert.deepEqual(
      (await listed(second)).map((each) => each.split('@')[0]),
      ['changed', 'kept', 'new'],
    );
  });

  test('a definition that is replaced while a server loads its objects is served as it is last', async () => {
    await using shared = await twoServers();
    const { first, second, view } = shared;
    const isReading = view.pauseReads(`/registry/${group}/widgets/`);
    await install(first);
    created(await first.ask('POST', widgets, { body: widget('old') }));
    await isReading;
    assert.equal((await first.ask('DELETE', `${crds}/widgets.${group}`)).status, 200);
    const gone = until('it is gone', async () => (await first.ask('GET', widgets)).status === 404);
    view.resume();
    await gone;
    await install(first, 'widgets', 'Widget', { size: { type: 'integer', default: 7 } });
    created(await first.ask('POST', widgets, { body: widget('new') }));
    await until('the second server serves it', async () => {
      const { status, body } = await second.ask('GET', widgets);
      return status === 200 && body.items[0]?.spec.size === 7;
    });
    assert.deepEqual(await listed(second), await listed(first));
  });

  test('of two definitions that take the same kind at the same time, both servers accept the same one', async () => {
    await using shared = await twoServers();
    const { first, second } = shared;
    await Promise.all([
      first.ask('POST', crds, { body: definition('widgets', 'Widget') }),
      second.ask('POST', crds, { body: definition('gadgets', 'Widget') }),
    ]);
    const established = async (server: TestServer): Promise<readonly boolean[]> =>
      Promise.all(['widgets', 'gadgets'].map((name) => isEstablished(server, name)));
    await until('one is established', async () => (await established(first)).includes(true));
    await Promise.all([first, second].map(({ context }) => context.resources.settled()));
    const result = await established(first);
    assert.equal(result.filter(Boolean).length, 1);
    assert.deepEqual(await established(second), result);
  });
});
