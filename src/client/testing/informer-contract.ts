import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ConfigMap } from '../../api/kinds/core/configmap/schema.ts';
import { configMapKind } from '../../api/kinds/core/configmap/kind.ts';
import { Client } from '../client.ts';
import { Informer } from '../informer.ts';
import type { Key } from '../key.ts';
import { keyOf } from '../key.ts';
import { fastClock } from './clocks.ts';
import type { Fault } from './faulty.ts';
import { FaultyTransport } from './faulty.ts';
import type { Transport } from '../transport.ts';

/** A server for the informer and direct write access that faults do not affect. */
export interface Source {
  readonly transport: Transport;
  put(name: string, value: string): Promise<void> | void;
  remove(name: string): Promise<void> | void;
  /** Drops old revisions, if the server supports that. */
  compact(): void;
  items(): Promise<readonly ConfigMap[]> | readonly ConfigMap[];
}

type Step =
  | { readonly do: 'put'; readonly name: string; readonly value: string }
  | { readonly do: 'remove'; readonly name: string }
  | { readonly do: 'fault'; readonly fault: Fault }
  | { readonly do: 'compact' | 'restart' }
  | { readonly do: 'wait'; readonly turns: number };

const name = fc.constantFrom('a', 'b', 'c');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('put' as const), name, value: fc.constantFrom('1', '2', '3') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), name }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('fault' as const),
      fault: fc.constantFrom('cut' as const, 'end' as const, 'expire' as const, 'garble' as const, 'refuse' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('compact' as const, 'restart' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), turns: fc.integer({ min: 1, max: 5 }) }) },
);

/** Property of an informer over any server: the cache and the delivered changes converge to the state of the server. */
export function informerContract(title: string, open: () => Source, runs: number): void {
  test(`${title}: writes, broken streams, 410s and restarts in any order end in the same state`, async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 40 }), (steps) => holds(open(), steps));
    await fc.assert(property, { numRuns: runs });
  });
}

async function holds(source: Source, steps: readonly Step[]): Promise<void> {
  const transport = new FaultyTransport(source.transport);
  const informer = new Informer(new Client(transport), configMapKind, {
    namespace: 'default',
    fieldSelector: 'metadata.name!=kube-root-ca.crt',
    indexes: { value: ({ data = {} }) => Object.values(data) },
    clock: fastClock,
    random: () => 0.5,
  });
  const replay = replayOf(informer);
  let stop = new AbortController();
  let running = informer.run(stop.signal);
  for (const todo of steps) {
    if (todo.do === 'put') await source.put(todo.name, todo.value);
    else if (todo.do === 'remove') await source.remove(todo.name);
    else if (todo.do === 'fault') transport.inject(todo.fault);
    else if (todo.do === 'compact') source.compact();
    else if (todo.do === 'wait') for (let turn = 0; turn < todo.turns; turn++) await nextTurn();
    else {
      stop.abort();
      await running;
      stop = new AbortController();
      running = informer.run(stop.signal);
    }
  }
  // A cache that contains this unique last write also contains all earlier ones.
  await source.put('last', String(++writes));
  const want = stateOf(await source.items());
  const deadline = performance.now() + 30_000;
  while (!informer.hasSynced || stateOf(informer.list()) !== want) {
    assert.ok(performance.now() < deadline, `${stateOf(informer.list())} never became ${want}`);
    await nextTurn();
  }
  stop.abort();
  await running;
  assert.equal(stateOf([...replay.objects.values()]), want);
  assert.deepEqual(replay.mistakes, []);
  for (const value of ['1', '2', '3']) {
    const filed = informer.list().filter(({ data }) => data?.['value'] === value);
    assert.equal(stateOf(informer.by('value', value)), stateOf(filed));
  }
}

let writes = 0;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const stateOf = (objects: readonly ConfigMap[]): string =>
  objects
    .map(({ metadata, data }) => `${keyOf({ metadata })}@${metadata.resourceVersion}=${data?.['value']}`)
    .toSorted((a, b) => (a < b ? -1 : 1))
    .join(' ');

interface Replay {
  readonly objects: Map<Key, ConfigMap>;
  readonly mistakes: string[];
}

/** The state that results from the handler calls, and calls that contradict earlier ones. */
function replayOf(informer: Informer<ConfigMap, 'value'>): Replay {
  const objects = new Map<Key, ConfigMap>();
  const mistakes: string[] = [];
  const expect = (isRight: boolean, what: string, object: ConfigMap): void => {
    if (!isRight) mistakes.push(`${what} ${keyOf(object)} at ${object.metadata.resourceVersion}`);
  };
  informer.subscribe({
    added(object) {
      expect(!objects.has(keyOf(object)), 'added twice', object);
      objects.set(keyOf(object), object);
    },
    updated(object, old) {
      expect(objects.get(keyOf(object)) === old, 'updated from another', object);
      expect(old.metadata.resourceVersion !== object.metadata.resourceVersion, 'updated to the same', object);
      expect(old.metadata.uid === object.metadata.uid, 'updated to another', object);
      objects.set(keyOf(object), object);
    },
    deleted(object) {
      expect(objects.delete(keyOf(object)), 'deleted twice', object);
    },
  });
  return { objects, mistakes };
}
