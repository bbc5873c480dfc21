import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { FairleadServer } from '../harness/server.ts';
import type { Credentials } from '../harness/server.ts';
import { Connection } from '../harness/connection.ts';
import type { TestObject } from '../harness/connection.ts';
import { checkClaims } from './claims.ts';
import { Follower } from './follower.ts';
import { remainsOfKilled } from './store-copy.ts';
import { Writer } from './writer.ts';

const rounds = Number(process.env['FAIRLEAD_KILL_ROUNDS'] ?? 120);
const namespace = 'battle';
const resources = ['services', 'configmaps'] as const;

test(`${rounds} kills with SIGKILL lose no acknowledged write and leave no partial write`, async (context) => {
  await using server = await FairleadServer.start();
  const credentials = await server.credentials();
  const from = await createNamespace(server, credentials);
  const writers = Array.from({ length: 6 }, (_, index) => new Writer(`w${index}`, namespace, () => Math.random()));
  const followers = resources.map((resource) => new Follower(`/api/v1/namespaces/${namespace}/${resource}`, from));
  let revision = 0;
  for (let round = 0; round < rounds; round++) {
    server.prepare();
    await injectFault(server, credentials, { writers, followers });
    const since = Math.min(...followers.map((follower) => follower.seen));
    const read = await remainsOfKilled(server.directory, since);
    const [remains] = await Promise.all([read(), server.start()]);
    checkClaims(remains.entries);
    assert.ok(remains.revision >= revision, `the revision went back from ${revision} to ${remains.revision}`);

    using connection = new Connection(server.port, credentials);
    for (const follower of followers) await follower.catchUp(connection, remains.changes);
    const objects = await listAll(connection);
    for (const { metadata } of objects.values()) revision = Math.max(revision, Number(metadata.resourceVersion));
    for (const writer of writers) for (const path of writer.known.keys()) checkObject(writer, path, objects.get(path));
    for (const follower of followers) follower.checkEqual(objects);
    revision = Math.max(revision, remains.revision);
  }
  const acknowledged = countOf(writers);
  const events = followers.reduce((sum, follower) => sum + follower.count, 0);
  assert.ok(acknowledged > rounds * 5, `only ${acknowledged} writes: the test proves too little`);
  context.diagnostic(`${rounds} kills, ${acknowledged} acknowledged writes, ${events} events seen, none lost`);
});

/** Returns the revision at which the namespace was created. */
async function createNamespace(server: FairleadServer, credentials: Credentials): Promise<number> {
  using connection = new Connection(server.port, credentials);
  const created = await connection.ask('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
  assert.equal(created.status, 201);
  return Number(created.body.metadata.resourceVersion);
}

/** The number of acknowledged writes so far. */
const countOf = (writers: readonly Writer[]): number =>
  writers.reduce((sum, { acknowledged }) => sum + acknowledged, 0);

/** Runs writers and watchers, then kills the server at a random moment. */
async function injectFault(
  server: FairleadServer,
  credentials: Credentials,
  { writers, followers }: { readonly writers: readonly Writer[]; readonly followers: readonly Follower[] },
): Promise<void> {
  using connection = new Connection(server.port, credentials);
  for (const follower of followers) follower.follow(connection);
  let isDead = false;
  const running = Promise.all(writers.map((writer) => writer.run(connection))).then(([cause]) => {
    if (!isDead) throw new Error('the connection broke before the server was killed', { cause });
  });
  const moment = countOf(writers) + Math.random() * 40;
  while (countOf(writers) < moment) await Promise.race([running, delay(1)]); // a rejected write fails the test
  await Promise.race([running, delay(Math.random() * 5)]);
  isDead = true;
  await server.stop('SIGKILL');
  await running;
  await Promise.all(followers.map((follower) => follower.ended));
}

/** path → object */
async function listAll(connection: Connection): Promise<ReadonlyMap<string, TestObject>> {
  const objects = new Map<string, TestObject>();
  for (const resource of resources) {
    const collection = `/api/v1/namespaces/${namespace}/${resource}`;
    const { body } = await connection.ask('GET', collection);
    for (const item of body.items as TestObject[]) objects.set(`${collection}/${item.metadata.name}`, item);
  }
  return objects;
}

/** Checks that every acknowledged state is stored, except that the one unanswered request may have been executed. */
function checkObject(writer: Writer, path: string, found: TestObject | undefined): void {
  const { acknowledged, pending } = writer.known.get(path) ?? assert.fail('unknown');
  const isAsAcknowledged = found?.metadata.resourceVersion === acknowledged?.metadata.resourceVersion;
  if (isAsAcknowledged) {
    if (found !== undefined && acknowledged !== undefined)
      assert.deepEqual(content(found), content(acknowledged), path);
  } else {
    assert.ok(pending !== undefined, `${path}: acknowledged ${text(acknowledged)}, found ${text(found)}`);
    const hasHappened = pending === 'delete' ? found === undefined : isNewer(found, acknowledged);
    assert.ok(hasHappened, `${path}: ${pending} in doubt after ${text(acknowledged)}, found ${text(found)}`);
  }
  writer.settle(path, found);
}

const isNewer = (found: TestObject | undefined, than: TestObject | undefined): boolean =>
  found !== undefined && Number(found.metadata.resourceVersion) > Number(than?.metadata.resourceVersion ?? 0);

/** Items of lists have no kind and apiVersion. */
const content = ({ kind: _kind, apiVersion: _apiVersion, ...rest }: TestObject): unknown => rest;

const text = (object: TestObject | undefined): string => JSON.stringify(object) ?? 'nothing';
