// Tests disks that are full, read-only or broken, when a server starts and while it runs.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { run } from '../harness/command.ts';
import type { WatchEvent } from '../harness/connection.ts';
import { Connection } from '../harness/connection.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { find, unless, unlessInstalled } from '../harness/needs.ts';
import { root } from '../harness/process.ts';
import { credentialsIn } from '../harness/server.ts';

const launcher = join(root, 'bin', 'fairlead.js');
const maps = '/api/v1/namespaces/default/configmaps';

/** Runs a command in its own mount namespace, after a line of shell. */
const withMounts = (setUp: string): [string, ...string[]] => [
  'unshare',
  '--mount',
  '--propagation',
  'private',
  'sh',
  '-ec',
  `${setUp}; exec "$@"`,
  'sh',
];

const whyNoMounts = [
  ...['unshare', 'mount'].filter((program) => find(program) === undefined).map((program) => `no ${program}`),
  ...(process.getuid?.() === 0 ? [] : ['root must mount file systems']),
];

/** A data directory of a server that has exited. */
async function usedDirectory(path: string): Promise<void> {
  await using server = await startFairlead(path, ['server']);
  using connection = await connectionTo(server);
  const created = await connection.ask('POST', maps, { metadata: { name: 'first' } });
  assert.equal(created.status, 201);
}

/** `at` is the path of the data directory for the server. */
async function connectionTo({ process, directory }: Fairlead, at: string = directory): Promise<Connection> {
  const port = /https:\/\/127\.0\.0\.1:(\d+)/.exec(process.out)?.[1];
  return new Connection(Number(port), await credentialsIn(at, 'fairlead'));
}

describe('a server that cannot use its disk', { skip: unless(whyNoMounts) }, () => {
  const tmpfs = (size: string): string => `mount -t tmpfs -o size=${size},mode=700 tmpfs "$DATA"`;
  const copied = 'cp -a "$USED"/. "$DATA"';
  const store = '"$DATA"/clusters/fairlead/store.db';
  const table: readonly (readonly [name: string, setUp: string, want: RegExp])[] = [
    ['no room for keys', tmpfs('16k'), /^fairlead: .*\/data\/\S+ .*(is full: free some space|ENOSPC.*)$/],
    ['no room for a store', tmpfs('116k'), /^fairlead: .*the disk that holds \S+\/store\.db is full: free some space$/],
    [
      'a full disk under a used directory',
      `${tmpfs('8m')}; ${copied}; cat /dev/zero >"$DATA"/filler 2>/dev/null || true`,
      /^fairlead: the disk that holds \S+\/data is full: free some space$/,
    ],
    [
      'a read-only file system',
      `${tmpfs('8m')}; ${copied}; mount -o remount,ro "$DATA"`,
      /^fairlead: .*\/data\b.*(read-only|EROFS|readonly).*$/,
    ],
    [
      'a read-only store',
      `${tmpfs('8m')}; ${copied}; mount --bind ${store} ${store}; mount -o remount,bind,ro ${store}`,
      /^fairlead: \S+\/store\.db is read-only or on a read-only file system \(EROFS.*\): mount it for writing or choose/,
    ],
    [
      'a directory in place of the store',
      `${tmpfs('8m')}; ${copied}; rm ${store}; mkdir ${store}`,
      /^fairlead: \S+\/store\.db is not a file: move it away$/,
    ],
    [
      'another file in place of the store',
      `${tmpfs('8m')}; ${copied}; cp /proc/version ${store}`,
      /^fairlead: \S+\/store\.db is corrupt \(.*\): restore it from a backup, or move it away and start once with --accept-data-loss$/,
    ],
    [
      'a missing store',
      `${tmpfs('8m')}; ${copied}; rm ${store}`,
      /^fairlead: \S+\/store\.db cannot be used: it has lost acknowledged writes: .* --accept-data-loss/,
    ],
    [
      'a directory in place of the highest revision',
      `${tmpfs('8m')}; ${copied}; rm ${store}-revision; mkdir ${store}-revision`,
      /^fairlead: \S+\/store\.db-revision cannot be used: EISDIR.*$/,
    ],
    [
      'a file in place of the data directory',
      `${tmpfs('8m')}; touch "$DATA"/x; DIR="$DATA"/x`,
      /^fairlead: cannot use data directory \S+\/data.*$/,
    ],
  ];
  for (const [name, setUp, want] of table) {
    it(`ends with one line that names the file: ${name}`, async () => {
      await using directory = await temporaryDirectory();
      const [used, data] = [join(directory.path, 'used'), join(directory.path, 'data')];
      if (setUp.includes(copied)) await usedDirectory(used);
      await mkdir(data);
      // The shell sees the path last: "$DIR" is an argument of the server.
      const [file, ...words] = withMounts(`DIR="$DATA"; ${setUp}; set -- "$@" "$DIR"`);
      const env = { DATA: data, USED: used };
      const command = [
        process.execPath,
        launcher,
        'server',
        '--secure-port',
        '0',
        '--log-level',
        'silent',
        '--data-dir',
      ];
      const { code, err } = await run(file, [...words, ...command], { env });
      assert.equal(code, 1, err);
      assert.match(err.trimEnd(), want);
      assert.ok(!err.trimEnd().includes('\n'), err);
    });
  }

  it('rejects writes while the disk is full, and accepts them when there is space', async () => {
    await using directory = await temporaryDirectory();
    const data = join(directory.path, 'data');
    await mkdir(data);
    await using server = await startFairlead(data, ['server'], {
      within: withMounts(`mount -t tmpfs -o size=8m,mode=700 tmpfs ${data}`),
    });
    const inside = `/proc/${server.process.pid}/root${data}`;
    using connection = await connectionTo(server, inside);
    const filler = join(inside, 'filler');
    assert.throws(() => {
      for (;;) appendFileSync(filler, Buffer.alloc(64 * 1024));
    }, /ENOSPC/);
    let created = 0;
    const create = async (): Promise<number> => {
      const metadata = { name: `m${created}` };
      const { status, body } = await connection.ask('POST', maps, { metadata, data: { a: 'x'.repeat(50_000) } });
      if (status === 201) created++;
      else assert.match(String(body.message), /^nothing was written, the disk that holds .*store\.db is full: free/);
      return status;
    };
    await until('the disk is full', async () => (await create()) === 503);
    const ready = await connection.ask('GET', '/readyz');
    assert.equal(ready.status, 500);
    assert.match(String(ready.body), /^\[\+\]etcd ok\n\[-\]etcd-readiness failed/m);
    assert.equal((await connection.ask('GET', '/livez')).status, 200);
    const listed = await connection.ask('GET', maps);
    assert.equal(listed.body.items.length, created + 1);
    rmSync(filler);
    await until('the server is ready', async () => (await connection.ask('GET', '/readyz')).status === 200);
    assert.equal(await create(), 201);
  });
});

it(
  'a server whose disk fails is neither ready nor live, serves reads, and continues without a gap when the disk works',
  { skip: unlessInstalled('prlimit') },
  async () => {
    await using directory = await temporaryDirectory();
    await using server = await startFairlead(directory.path, ['server']);
    using connection = await connectionTo(server);
    // A write beyond the limit fails with EFBIG, which SQLite reports as an I/O error.
    const limitFiles = (bytes: string): void => {
      const { status, stderr } = spawnSync('prlimit', ['--pid', String(server.process.pid), `--fsize=${bytes}:`]);
      assert.equal(status, 0, String(stderr));
    };
    const acknowledged: string[] = [];
    const seen: string[] = [];
    const list = await connection.ask('GET', maps);
    const watch = connection.watch(
      `${maps}?watch=1&resourceVersion=${list.body.metadata.resourceVersion}`,
      ({ type, object }: WatchEvent) => seen.push(`${type} ${object.metadata.name}`),
    );
    let number = 0;
    const create = async (): Promise<number> => {
      const name = `m${number++}`;
      const { status } = await connection.ask('POST', maps, { metadata: { name }, data: { a: 'x'.repeat(5000) } });
      if (status === 201) acknowledged.push(name);
      return status;
    };
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 20; i++) assert.equal(await create(), 201);
      limitFiles('4096');
      const { status, body } = await connection.ask('POST', maps, { metadata: { name: `failed${round}` } });
      assert.equal(status, 503);
      assert.match(
        body.message,
        /^nothing was written, writing to \S+store\.db failed \(.*\): check the disk; the store/,
      );
      const isLogged = (): boolean => server.process.err.split('the store cannot be written').length === round + 2;
      await until('the failure is logged', () => Promise.resolve(isLogged()));
      for (const path of ['/livez', '/readyz', '/healthz']) {
        const health = await connection.ask('GET', path);
        assert.equal(health.status, 500, path);
        assert.match(String(health.body), /^\[-\]etcd failed: reason withheld$/m);
      }
      assert.equal((await connection.ask('GET', maps)).body.items.length, acknowledged.length + 1);
      limitFiles('unlimited');
      await until('the server is ready', async () => (await connection.ask('GET', '/readyz')).status === 200);
      assert.equal((await connection.ask('GET', '/livez')).status, 200);
      assert.equal(await create(), 201);
      const isOver = (): boolean => server.process.err.split('the store can be written again').length === round + 2;
      await until('the end of the failure is logged', () => Promise.resolve(isOver()));
    }
    await until('the watch has all events', async () => seen.length >= acknowledged.length);
    assert.deepEqual(
      seen,
      acknowledged.map((name) => `ADDED ${name}`),
    );
    watch.close();
    await server.stop('SIGKILL');
    await using again = await startFairlead(directory.path, ['server']);
    using next = await connectionTo(again);
    const names = (await next.ask('GET', maps)).body.items.map(
      ({ metadata }: { metadata: { name: string } }) => metadata.name,
    );
    assert.deepEqual(names.sort(), [...acknowledged, 'kube-root-ca.crt'].sort());
  },
);
