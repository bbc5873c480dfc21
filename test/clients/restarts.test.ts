import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Informer, KubernetesObject, ObjectCache } from '@kubernetes/client-node';
import { CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node';

import type { TestObject } from '../harness/connection.ts';
import { Connection } from '../harness/connection.ts';
import { FairleadServer } from '../harness/server.ts';

/** The duration of the test; longer runs cover more. */
const seconds = Number(process.env['FAIRLEAD_CLIENT_SECONDS'] ?? 25);
const betweenRestartsMs = 2500;
const namespace = 'default';

/** An informer of the official client, restarted after every error as in its examples. */
class Followed {
  readonly collection: string;
  /** `add web 12`, in the order of the callbacks. */
  readonly events: string[] = [];
  readonly problems: string[] = [];
  restarts = 0;
  readonly #informer: Informer<KubernetesObject> & ObjectCache<KubernetesObject>;
  readonly #present = new Set<string>();
  #isStopped = false;

  constructor(config: KubeConfig, resource: string, list: () => Promise<{ items: KubernetesObject[] }>) {
    this.collection = `/api/v1/namespaces/${namespace}/${resource}`;
    this.#informer = makeInformer(config, this.collection, list as Parameters<typeof makeInformer>[2]);
    for (const verb of ['add', 'update', 'delete'] as const)
      this.#informer.on(verb, (object) => this.#take(verb, object));
    this.#informer.on('error', () => void this.#again());
  }

  start(): Promise<void> {
    return this.#informer.start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#informer.stop();
  }

  /** name and revision of everything in the cache */
  get cached(): string[] {
    return this.#informer.list().map(labelOf).toSorted();
  }

  async #again(): Promise<void> {
    if (this.#isStopped) return;
    this.restarts++;
    await delay(50); // the server is starting
    if (!this.#isStopped) await this.#informer.start();
  }

  #take(verb: 'add' | 'update' | 'delete', object: KubernetesObject): void {
    const name = object.metadata?.name ?? '';
    if (this.#present.has(name) === (verb === 'add')) this.problems.push(`${verb} of ${labelOf(object)}`);
    if (verb === 'delete') this.#present.delete(name);
    else this.#present.add(name);
    this.events.push(`${verb} ${labelOf(object)}`);
  }
}

const labelOf = ({ metadata }: Pick<KubernetesObject, 'metadata'>): string =>
  `${metadata?.name} ${metadata?.resourceVersion}`;

test(`informers of the official client stay consistent over ${seconds} s of restarts`, async (context) => {
  await using server = await FairleadServer.start();
  const credentials = await server.credentials();
  const config = new KubeConfig();
  config.loadFromFile(server.kubeconfig);
  const core = config.makeApiClient(CoreV1Api);
  const followed = [
    new Followed(config, 'services', () => core.listNamespacedService({ namespace })),
    new Followed(config, 'configmaps', () => core.listNamespacedConfigMap({ namespace })),
  ];
  const initial = await revision(server);
  for (const one of followed) await one.start();

  const stop = new AbortController();
  const writes = writeUntil(stop.signal, server);
  let restarts = 0;
  for (const end = Date.now() + seconds * 1000; Date.now() < end; restarts++) {
    server.prepare();
    await delay(betweenRestartsMs);
    await server.stop(restarts % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
    await server.start();
  }
  stop.abort();
  const written = await writes;

  using connection = new Connection(server.port, credentials);
  let events = 0;
  for (const one of followed) {
    const happened = await history(connection, one.collection, initial);
    const seen = (): string[] => one.events.slice(-happened.length);
    for (const end = Date.now() + 60_000; seen().at(-1) !== happened.at(-1) && Date.now() < end;) await delay(10);
    await one.stop();
    assert.deepEqual(one.problems, []);
    assert.deepEqual(seen(), happened, 'the informer delivered every event once and in order');
    const { body } = await connection.ask('GET', one.collection);
    assert.deepEqual(one.cached, (body.items as TestObject[]).map(labelOf).toSorted());
    events += happened.length;
  }
  assert.ok(written > restarts * 2, `only ${written} writes`);
  context.diagnostic(`${restarts} restarts, ${written} writes, ${events} events, none missing or repeated`);
});

async function revision(server: FairleadServer): Promise<string> {
  using connection = new Connection(server.port, await server.credentials());
  const { body } = await connection.ask('GET', '/api/v1/services');
  return body.metadata.resourceVersion as string;
}

/** Creates, changes and deletes objects during restarts; returns the number of acknowledged writes. */
async function writeUntil(signal: AbortSignal, server: FairleadServer): Promise<number> {
  const credentials = await server.credentials();
  let acknowledged = 0;
  let connection = new Connection(server.port, credentials);
  for (let count = 0; !signal.aborted; count++) {
    const { method, path, body, type } = requestFor(count);
    try {
      const { status } = await connection.ask(method, path, body, type);
      if (status <= 201) acknowledged++;
      await delay(5);
    } catch {
      // The server is restarting on the same port.
      connection[Symbol.dispose]();
      await delay(20);
      connection = new Connection(server.port, credentials);
    }
  }
  connection[Symbol.dispose]();
  return acknowledged;
}

/** After a restart a repeated write can fail: the object exists already, or is deleted already. */
function requestFor(count: number): { method: string; path: string; body?: unknown; type?: string } {
  const resource = count % 3 === 0 ? 'configmaps' : 'services';
  const collection = `/api/v1/namespaces/${namespace}/${resource}`;
  const name = `web-${(count >> 2) % 20}`;
  const metadata = { name, annotations: { count: `${count}` } };
  if (count % 4 === 0 || count % 8 === 1) {
    const spec = { type: 'NodePort', ports: [{ port: 80 }] };
    return { method: 'POST', path: collection, body: resource === 'services' ? { metadata, spec } : { metadata } };
  }
  const path = `${collection}/${name}`;
  if (count % 8 === 7) return { method: 'DELETE', path };
  return { method: 'PATCH', path, body: { metadata }, type: 'application/merge-patch+json' };
}

/** The events since a revision, up to an object that is created last. */
async function history(connection: Connection, collection: string, since: string): Promise<string[]> {
  const last = { metadata: { name: 'last' }, spec: { ports: [{ port: 80 }] } };
  assert.equal((await connection.ask('POST', `${collection}?fieldValidation=Ignore`, last)).status, 201);
  const events: string[] = [];
  const verbs = { ADDED: 'add', MODIFIED: 'update', DELETED: 'delete' } as const;
  const watch = connection.watch(`${collection}?watch=1&resourceVersion=${since}`, ({ type, object }) => {
    assert.ok(type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED', JSON.stringify(object));
    events.push(`${verbs[type]} ${labelOf(object)}`);
    if (object.metadata.name === 'last') watch.close();
  });
  await watch.ended;
  return events;
}
