import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { Connection } from '../harness/connection.ts';
import type { WatchEvent } from '../harness/connection.ts';
import { unless, unlessInstalled } from '../harness/needs.ts';
import type { SharedCluster } from './cluster.ts';
import { startSharedCluster } from './cluster.ts';
import type { KeyEvent, Operation } from './history.ts';
import { checkLinearizable } from './history.ts';
import type { Link } from './link.ts';
import { Partition, whyNoPartitions } from './partition.ts';

/** `FAIRLEAD_FAULT_ROUNDS=200` for a long run. */
const rounds = Number(process.env['FAIRLEAD_FAULT_ROUNDS'] ?? 6);
const roundsOfHistory = 10;
const collection = '/api/v1/namespaces/default/configmaps';
const clientCount = 6;
const keyCount = 8;

const cannotPart = unless(whyNoPartitions());
/** The users of the members, by which their packets are found. */
const uids = [61_001, 61_002, 61_003];

test(
  `the history of three servers over three etcd members is linearizable in spite of ${rounds} faults`,
  { skip: unlessInstalled('etcd') },
  async (context) => {
    const links: readonly Link[][] = [[], [], []];
    const linked = [...links.entries()];
    await using shared = await startSharedCluster({ members: 3, servers: 3, linked, uids: cannotPart ? [] : uids });
    const cluster = { ...shared, links };
    using cleanup = new DisposableStack();
    cleanup.defer(() => {
      for (const { log } of cluster.servers) if (log !== '') context.diagnostic(log);
    });
    // etcd and the servers keep five minutes of history.
    for (let left = rounds; left > 0; left -= roundsOfHistory) {
      context.diagnostic(await checkHistory(cluster, Math.min(left, roundsOfHistory)));
    }
  },
);

/** Runs clients during some faults, and checks the history of all of them. Returns a summary. */
async function checkHistory(cluster: LinkedCluster, faultCount: number): Promise<string> {
  const stop = new AbortController();
  try {
    const start = await deleteAll(cluster);
    const operations: Operation[] = [];
    const clients = Array.from({ length: clientCount }, (_, index) =>
      runClient(cluster, { server: index % 3, name: `c${index}`, operations, signal: stop.signal }),
    );
    const followers = cluster.servers.map((_, index) => new EventFollower(cluster, index, start));
    const following = followers.map((follower) => follower.run(stop.signal));
    for (let round = 0; round < faultCount; round++) {
      const fault = faults[Math.floor(Math.random() * faults.length)] ?? faults[0];
      const victim = Math.floor(Math.random() * 3);
      const before = operations.length;
      await fault?.(cluster, victim);
      await Promise.race([Promise.all(clients), delay(0)]); // a client that found a bug fails the test
      await until(() => operations.length > before + 100, 'clients make progress again');
    }
    stop.abort();
    await Promise.all(clients);
    const events = await allEvents(cluster, start);
    await Promise.all(following);
    for (const follower of followers) follower.checkPrefixOf(events);
    checkLinearizable(operations, events);
    const written = operations.filter(({ what }) => what.type === 'write').length;
    return `${faultCount} faults, ${operations.length} operations, ${written} writes, ${events.length} events`;
  } finally {
    stop.abort();
  }
}

/** A cluster, and for each server its links to the members of etcd. */
type LinkedCluster = Omit<SharedCluster, typeof Symbol.asyncDispose> & { readonly links: readonly (readonly Link[])[] };

type Fault = (cluster: LinkedCluster, victim: number) => Promise<void>;

const faults: readonly Fault[] = [
  async ({ etcd }, victim) => {
    etcd.members[victim]?.kill('SIGKILL');
    await delay(Math.random() * 1000);
    await etcd.members[victim]?.restart();
  },
  async ({ etcd }, victim) => {
    etcd.members[victim]?.kill('SIGSTOP');
    await delay(500 + Math.random() * 3000);
    etcd.members[victim]?.kill('SIGCONT');
  },
  async ({ servers }, victim) => {
    servers[victim]?.prepare();
    await servers[victim]?.stop('SIGKILL');
    await servers[victim]?.start();
  },
  async ({ servers }, victim) => {
    servers[victim]?.signal('SIGSTOP');
    await delay(500 + Math.random() * 3000);
    servers[victim]?.signal('SIGCONT');
  },
  // One server cannot reach one member.
  async ({ links }, victim) => cutForAWhile([links[victim]?.[Math.floor(Math.random() * 3)]]),
  // One server cannot reach any member.
  async ({ links }, victim) => cutForAWhile(links[victim] ?? []),
  // No server can reach one member.
  async ({ links }, victim) => cutForAWhile(links.map((ofServer) => ofServer[victim])),
  // One member, perhaps the leader, cannot reach the others, but serves its clients.
  ...(cannotPart ? [] : [isolateForAWhile]),
];

async function isolateForAWhile({ etcd }: LinkedCluster, victim: number): Promise<void> {
  using partition = new Partition();
  const [member, uid] = [etcd.members[victim], uids[victim]];
  if (member === undefined || uid === undefined) throw new Error('bug: there is no such member');
  partition.isolate(
    member,
    uid,
    etcd.members.filter((other) => other !== member),
  );
  await delay(500 + Math.random() * 4000);
}

async function cutForAWhile(links: readonly (Link | undefined)[]): Promise<void> {
  for (const link of links) link?.cut();
  await delay(500 + Math.random() * 3000);
  for (const link of links) link?.heal();
}

interface ClientOptions {
  /** The server that it uses first. */
  readonly server: number;
  readonly name: string;
  readonly operations: Operation[];
  readonly signal: AbortSignal;
}

/** Sends random requests, one after the other, and goes to another server when one fails. */
async function runClient(
  cluster: LinkedCluster,
  { server: first, name, operations, signal }: ClientOptions,
): Promise<void> {
  let count = 0;
  /** key → the revision that this client has seen */
  const seen = new Map<string, string>();
  for (let server = first; !signal.aborted; server++) {
    const port = cluster.servers[server % cluster.servers.length]?.port ?? 0;
    using connection = new Connection(port, cluster.credentials);
    try {
      while (!signal.aborted) {
        const begin = performance.now();
        const key = `k${Math.floor(Math.random() * keyCount)}`;
        const what = await withDeadline(request(connection, { key, value: `${name}-${count++}`, seen }));
        if (what !== undefined) operations.push({ begin, end: performance.now(), what });
        await delay(Math.random() * 5);
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      await delay(50); // the request has no answer
    }
  }
}

/** Sends one request. Returns undefined if its outcome is not known. */
async function request(
  connection: Connection,
  { key, value, seen }: { readonly key: string; readonly value: string; readonly seen: Map<string, string> },
): Promise<Operation['what'] | undefined> {
  const path = `${collection}/${key}`;
  const dice = Math.random();
  const metadata = { name: key };
  if (dice < 0.25) {
    const { status, body } = await connection.ask('POST', collection, { metadata, data: { value } });
    if (status === 409) return { type: 'exists', key };
    if (!isKnown(status, body, 201)) return undefined;
    return { type: 'write', key, value, revision: Number(body.metadata.resourceVersion) };
  }
  if (dice < 0.55) {
    const expected = seen.get(key);
    if (expected === undefined) return undefined;
    const update = { metadata: { ...metadata, resourceVersion: expected }, data: { value } };
    const { status, body } = await connection.ask('PUT', path, update);
    if (status === 409) return { type: 'conflict', key, expected: Number(expected) };
    if (status === 404) return { type: 'get', key, value: undefined, revision: 0 };
    if (!isKnown(status, body, 200)) return undefined;
    return { type: 'write', key, value, revision: Number(body.metadata.resourceVersion) };
  }
  if (dice < 0.65) {
    const { status, body } = await connection.ask('DELETE', path);
    if (status === 404) return { type: 'get', key, value: undefined, revision: 0 };
    return isKnown(status, body, 200) ? { type: 'delete', key } : undefined;
  }
  if (dice < 0.9) {
    const { status, body } = await connection.ask('GET', path);
    if (status === 404) return { type: 'get', key, value: undefined, revision: 0 };
    if (!isKnown(status, body, 200)) return undefined;
    const { resourceVersion } = body.metadata;
    seen.set(key, resourceVersion);
    return { type: 'get', key, value: body.data.value, revision: Number(resourceVersion) };
  }
  const { status, body } = await connection.ask('GET', collection);
  if (!isKnown(status, body, 200)) return undefined;
  const items = (body.items as readonly (NamedObject & { readonly data: { readonly value: string } })[]).filter(isOurs);
  const values = new Map(items.map((item) => [item.metadata.name, item.data.value]));
  return { type: 'list', values, revision: Number(body.metadata.resourceVersion) };
}

interface NamedObject {
  readonly metadata: { readonly name: string };
}

const isOurs = ({ metadata }: NamedObject): boolean => /^k\d$/.test(metadata.name);

/** A write that fails with a 5xx may be done; anything else is a bug. */
function isKnown(status: number, body: unknown, expected: number): boolean {
  assert.ok(status === expected || status >= 500 || status === 429, `${status}: ${JSON.stringify(body)}`);
  return status === expected;
}

async function withDeadline<T>(answer: Promise<T>): Promise<T> {
  const late = new AbortController();
  const deadline = delay(30_000, undefined, { signal: late.signal }).then(() => {
    throw new Error('no answer');
  });
  try {
    return await Promise.race([answer, deadline]);
  } finally {
    late.abort();
    deadline.catch(() => undefined);
  }
}

/** Deletes what an earlier history has left. Returns a revision without any of the keys. */
async function deleteAll({ servers, credentials }: LinkedCluster): Promise<number> {
  using connection = new Connection(servers[0]?.port ?? 0, credentials);
  for (;;) {
    await connection.ask('DELETE', collection);
    const { body } = await connection.ask('GET', collection);
    if (!(body.items as readonly NamedObject[]).some(isOurs)) return Number(body.metadata.resourceVersion);
  }
}

const eventOf = ({ type, object }: WatchEvent): KeyEvent => ({
  key: object.metadata.name,
  revision: Number(object.metadata.resourceVersion),
  value: type === 'DELETED' ? undefined : object['data'].value,
});

/** All events since a revision, in order, as every server reports them in the end. */
async function allEvents({ servers, credentials }: LinkedCluster, from: number): Promise<readonly KeyEvent[]> {
  const histories: (readonly KeyEvent[])[] = [];
  for (const { port } of servers) {
    using connection = new Connection(port, credentials);
    const { body } = await connection.ask('POST', collection, { metadata: { generateName: 'last-' } });
    const last: string = body.metadata.name;
    const events: KeyEvent[] = [];
    let isComplete = false;
    const watch = connection.watch(`${collection}?watch=1&resourceVersion=${from}`, (event) => {
      assert.notEqual(event.type, 'ERROR', JSON.stringify(event.object));
      if (isOurs(event.object)) events.push(eventOf(event));
      else if (event.object.metadata.name === last) isComplete = true;
    });
    await until(() => isComplete, 'the watch has delivered everything');
    watch.close();
    histories.push(events);
  }
  const [first = []] = histories;
  for (const other of histories) assert.deepEqual(other, first);
  return first;
}

/** A client that watches all the time, and resumes from its last event at another server when a watch ends. */
class EventFollower {
  readonly #cluster: LinkedCluster;
  readonly #events: KeyEvent[] = [];
  readonly #start: number;
  #server: number;

  constructor(cluster: LinkedCluster, server: number, start: number) {
    this.#cluster = cluster;
    this.#server = server;
    this.#start = start;
  }

  async run(signal: AbortSignal): Promise<void> {
    let from = this.#start;
    while (!signal.aborted) {
      const { servers, credentials } = this.#cluster;
      using connection = new Connection(servers[this.#server++ % servers.length]?.port ?? 0, credentials);
      const watch = connection.watch(`${collection}?watch=1&resourceVersion=${from}&timeoutSeconds=3`, (event) => {
        if (event.type === 'ERROR') return; // such as a server that has not reached the revision
        from = Number(event.object.metadata.resourceVersion);
        if (event.type !== 'BOOKMARK' && isOurs(event.object)) this.#events.push(eventOf(event));
      });
      const ended = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      await Promise.race([watch.ended, ended, delay(10_000)]);
      watch.close();
      await delay(20);
    }
  }

  checkPrefixOf(events: readonly KeyEvent[]): void {
    assert.deepEqual(this.#events, events.slice(0, this.#events.length));
  }
}

async function until(condition: () => boolean, what: string): Promise<void> {
  for (const deadline = Date.now() + 120_000; !condition();) {
    assert.ok(Date.now() < deadline, `timed out waiting until ${what}`);
    await delay(10);
  }
}
