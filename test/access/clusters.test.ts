// Tests several clusters of one data directory, each with its own certificate authority, over real connections.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import type { KeyPair } from '../../src/server/pki/issue.ts';
import { writeShared } from '../../src/server/pki/testing/shared-authority.ts';
import type { Result } from '../harness/command.ts';
import { run } from '../harness/command.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { FairleadProcess, root } from '../harness/process.ts';

const flags = ['up', '--parts', 'server', '--cluster', 'east', '--cluster', 'west'];

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
  readonly users: readonly { readonly name: string; readonly user: Readonly<Record<string, string>> }[];
}

const decoded = (text = ''): string => Buffer.from(text, 'base64').toString();

/** The access to each cluster of a kubeconfig, in order. */
async function accessIn(
  kubeconfig: string,
): Promise<readonly { readonly url: string; readonly ca: string; readonly pair: KeyPair }[]> {
  const { clusters, users } = JSON.parse(await readFile(kubeconfig, 'utf8')) as Kubeconfig;
  return clusters.map(({ cluster }, index) => {
    const user = users[index]?.user ?? {};
    return {
      url: cluster['server'] ?? '',
      ca: decoded(cluster['certificate-authority-data']),
      pair: { cert: decoded(user['client-certificate-data']), key: decoded(user['client-key-data']) },
    };
  });
}

/** The status of the response; rejects if the client does not trust the server. */
async function statusOf(url: string, ca: string, pair: KeyPair): Promise<number | undefined> {
  const [response] = (await once(get(`${url}/api/v1/namespaces`, { ca, ...pair, agent: false }), 'response')) as [
    IncomingMessage,
  ];
  response.destroy();
  return response.statusCode;
}

const fairlead = (server: Fairlead, ...args: string[]): Promise<Result> =>
  run(process.execPath, [join(root, 'bin', 'fairlead.js'), ...args, '--data-dir', server.directory]);

/** The clusters east and west of a started server. */
async function both(
  server: Fairlead,
): Promise<[Awaited<ReturnType<typeof accessIn>>[number], Awaited<ReturnType<typeof accessIn>>[number]]> {
  const [east, west] = await accessIn(server.kubeconfig);
  assert.ok(east && west);
  return [east, west];
}

describe('clusters of one data directory', () => {
  test('reject certificates of each other', async () => {
    await using folder = await temporaryDirectory();
    await using server = await startFairlead(join(folder.path, 'data'), flags);
    const [east, west] = await both(server);
    for (const { url, ca, pair } of [east, west]) assert.equal(await statusOf(url, ca, pair), 200);
    assert.equal(await statusOf(west.url, west.ca, east.pair), 401);
    assert.equal(await statusOf(east.url, east.ca, west.pair), 401);
    await assert.rejects(statusOf(west.url, east.ca, west.pair), 'clients of east trust the server of west');
  });

  test('issue a context and a certificate per cluster, or for one cluster', async () => {
    const [kubectl] = await findKubectls();
    await using folder = await temporaryDirectory();
    await using server = await startFairlead(join(folder.path, 'data'), flags);
    const file = join(folder.path, 'bob');
    const added = await fairlead(server, 'user', 'add', 'bob', '--group', 'system:masters', '-o', file);
    assert.equal(added.code, 0, added.err);
    for (const context of ['east', 'west']) {
      const args = ['--kubeconfig', file, '--context', context, 'get', 'namespaces', '-o', 'name'];
      const { out, err } = await run(kubectl?.path ?? '', args, { env: { HOME: folder.path } });
      assert.match(out, /namespace\/default/, err);
    }
    const one = await fairlead(server, 'user', 'add', 'eve', '--cluster', 'west', '-o', '-');
    assert.deepEqual(
      (JSON.parse(one.out) as Kubeconfig).users.map(({ name }) => name),
      ['eve@west'],
    );
  });
});

describe('a data directory of a release with one authority for all clusters', () => {
  test('is converted, also after a kill during the start; earlier kubeconfigs work until --finish', async () => {
    await using folder = await temporaryDirectory();
    const directory = join(folder.path, 'data');
    const { ca, alice } = await writeShared(join(directory, 'pki'), ['east', 'west']);
    for (const afterMs of [100, 200, 300, 400, 600]) {
      const start = new FairleadProcess([...flags, '--data-dir', directory, '--port-base', '0']);
      await delay(afterMs); // any moment of the conversion
      await start.stop('SIGKILL');
    }
    await using server = await startFairlead(directory, flags);
    const [east, west] = await both(server);
    for (const { url } of [east, west]) assert.equal(await statusOf(url, ca.cert, alice), 200);

    const [users, early] = [await fairlead(server, 'user', 'add', 'bob', '-o', '-'), await fairlead(server, 'ca')];
    assert.equal(users.code, 0, users.err);
    assert.match(early.out, /east\/ca-previous +CN=fairlead-ca +\S+ +still trusted/);
    assert.equal(await statusOf(west.url, west.ca, east.pair), 401);
    // Servers send the cross-signed certificates to clients, so they are public.
    const link = await readFile(join(directory, 'pki', 'east', 'ca-cross.crt'), 'utf8');
    const linked = { ...east.pair, cert: `${east.pair.cert}\n${link}` };
    assert.equal(await statusOf(east.url, east.ca, linked), 200);
    assert.equal(
      await statusOf(west.url, west.ca, linked),
      401,
      'a cross-signed certificate is not valid for the other cluster',
    );

    const finished = await fairlead(server, 'ca', 'rotate', '--finish');
    assert.equal(finished.code, 0, finished.err);
    assert.match(finished.out, /^east, west: the previous certificate authority is no longer trusted/);
    const [eastNow, westNow] = await both(server);
    for (const { url, ca: trust, pair } of [eastNow, westNow]) {
      assert.equal(await statusOf(url, trust, pair), 200);
      assert.equal(await statusOf(url, trust, alice), 401);
    }
    const again = await fairlead(server, 'ca', 'rotate', '--finish');
    assert.match(again.err, /no rotation is in progress/);
  });

  test('is not changed by other commands, and a damaged one is an error', async () => {
    await using folder = await temporaryDirectory();
    const directory = join(folder.path, 'data');
    await writeShared(join(directory, 'pki'), ['east', 'west']);
    const cli = (...args: string[]): Promise<Result> =>
      run(process.execPath, [join(root, 'bin', 'fairlead.js'), ...args, '--data-dir', directory]);
    for (const args of [['ca'], ['ca', 'rotate'], ['user', 'add', 'bob', '-o', '-']]) {
      const { code, err } = await cli(...args);
      assert.deepEqual([code, /was written by an older release: start the server once/.test(err)], [1, true], err);
    }
    await writeFile(join(directory, 'pki', 'ca.key'), 'damaged');
    const { code, err } = await cli(...flags, '--port-base', '0');
    assert.equal(code, 1);
    assert.match(
      err,
      /^fairlead: \S+ca\.crt and ca\.key, the certificate authority that the clusters shared, cannot be /,
    );
  });
});
