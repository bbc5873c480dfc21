// Backups of running and stopped servers, and stores that are restored from them, through the command line.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import type { BackupHeader } from '../../src/store/backup/format.ts';
import { run } from '../harness/command.ts';
import type { WatchEvent } from '../harness/connection.ts';
import { Connection } from '../harness/connection.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { find, unless } from '../harness/needs.ts';
import { credentialsIn, FairleadServer } from '../harness/server.ts';
import { launcher, mustRun, store, writeLarge } from './backups.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const services = '/api/v1/namespaces/default/services';

interface Read {
  readonly header: BackupHeader;
  /** key → revision and value */
  readonly records: ReadonlyMap<string, readonly [revision: number, value: string]>;
}

function readBackup(file: string): Read {
  const [header = '', ...lines] = readFileSync(file, 'utf8').split('\n').slice(0, -2);
  const records = lines.map((line) => {
    const [key, revision, , value] = JSON.parse(line) as [string, number, number, string];
    return [key, [revision, value]] as const;
  });
  return { header: JSON.parse(header) as BackupHeader, records: new Map(records) };
}

describe('a backup of a running server', () => {
  it('is the state at one revision while 64 clients write', async () => {
    await using server = await FairleadServer.start();
    const credentials = await server.credentials();
    using connection = new Connection(server.port, credentials);
    const events: WatchEvent[] = [];
    const watch = connection.watch(`${maps}?watch=1`, (event) => events.push(event));
    let isDone = false;
    const write = async (client: number): Promise<void> => {
      for (let count = 0; !isDone; count++) {
        const name = `c${client}-${count % 3}`;
        const object = { metadata: { name }, data: { count: String(count) } };
        const { status } = await connection.ask('PUT', `${maps}/${name}`, object);
        if (status === 404) await connection.ask('POST', maps, object);
        if (count % 5 === 4) await connection.ask('DELETE', `${maps}/${name}`);
      }
    };
    const writers = Array.from({ length: 64 }, (_, client) => write(client));
    const backups: Read[] = [];
    for (let count = 0; count < 3; count++) {
      const file = join(server.directory, `${count}.backup`);
      await mustRun('backup', file, '--data-dir', server.directory);
      assert.equal(statSync(file).mode & 0o777, 0o600);
      backups.push(readBackup(file));
    }
    isDone = true;
    await Promise.all(writers);
    const last = await connection.ask('POST', maps, { metadata: { name: 'last' } });
    const lastRevision = last.body.metadata.resourceVersion;
    await until('the watch has all events', () => events.at(-1)?.object.metadata.resourceVersion === lastRevision);
    watch.close();
    for (const { header, records } of backups) {
      const want = new Map<string, number>();
      for (const { type, object } of events) {
        const revision = Number(object.metadata.resourceVersion);
        if (revision > header.revision) continue;
        const key = `/registry/configmaps/default/${object.metadata.name}`;
        if (type === 'DELETED') want.delete(key);
        else want.set(key, revision);
      }
      const ofMaps = [...records].filter(([key]) => key.startsWith('/registry/configmaps/default/'));
      const found = new Map(ofMaps.map(([key, [revision]]) => [key, revision]));
      assert.deepEqual(found, new Map([...want].toSorted(([a], [b]) => (a < b ? -1 : 1))));
    }
    const [first, , third] = backups;
    assert.ok((third?.header.revision ?? 0) > (first?.header.revision ?? Infinity), 'clients wrote meanwhile');
  });

  it('is written to a pipe, and fails when the reader closes it', async () => {
    await using folder = await temporaryDirectory();
    await using server = await startFairlead(folder.path, ['server']);
    const { out, err } = await mustRun('backup', '-', '--kubeconfig', server.kubeconfig);
    assert.match(out, /^\{"kind":"FairleadBackup",[^]*\n\{"records":\d+,"sha256":"[\da-f]{64}"\}\n$/);
    assert.match(err, /^standard output: \d+ records of cluster "fairlead" at revision \d+\n$/);
    const missing = await store(['backup', join(folder.path, 'no', 'x.backup'), '--data-dir', folder.path]);
    assert.deepEqual([missing.code, missing.out], [1, '']);
    assert.match(missing.err, /^fairlead: \S+x\.backup cannot be written \(no such file or directory\)/);
  });
});

describe('a store that is restored', () => {
  it('has the objects and claims of the backup, and clients list again', async () => {
    await using folder = await temporaryDirectory();
    const [data, other] = [join(folder.path, 'data'), join(folder.path, 'other')];
    const file = join(folder.path, 'x.backup');
    let before = '';
    let address = '';
    {
      await using server = await startFairlead(data, ['server']);
      using connection = await connectionTo(data, server.process.out);
      const { body } = await connection.ask('POST', services, {
        metadata: { name: 'web' },
        spec: { ports: [{ port: 80 }] },
      });
      address = body.spec.clusterIP;
      await mustRun('backup', file, '--data-dir', data);
      const later = await connection.ask('POST', maps, { metadata: { name: 'later' } });
      before = later.body.metadata.resourceVersion;
      const running = await store(['restore', file, '--data-dir', data, '--overwrite']);
      assert.deepEqual([running.code, running.out], [1, '']);
      assert.match(
        running.err,
        /^fairlead: data directory \S+ is in use by process \d+: stop it or pass --data-dir\n$/,
      );
    }
    const existing = await store(['restore', file, '--data-dir', data]);
    assert.equal(existing.code, 1);
    assert.match(
      existing.err,
      /^fairlead: \S+store\.db exists: pass --overwrite to replace it, or choose another data/,
    );
    const { err } = await mustRun('restore', file, '--data-dir', data, '--overwrite');
    assert.match(
      err,
      /\d+ records of cluster "fairlead", which were at revision \d+, are at revision 1000\d+\nthe previous/,
    );
    {
      await using server = await startFairlead(data, ['server']);
      using connection = await connectionTo(data, server.process.out);
      const { body } = await connection.ask('GET', `${services}/web`);
      assert.equal(body.spec.clusterIP, address);
      assert.ok(Number(body.metadata.resourceVersion) > Number(before));
      assert.equal((await connection.ask('GET', `${maps}/later`)).status, 404);
      const taken = { metadata: { name: 'thief' }, spec: { clusterIP: address, ports: [{ port: 80 }] } };
      assert.equal((await connection.ask('POST', services, taken)).status, 422, 'the claim was restored');
      const events: WatchEvent[] = [];
      await connection.watch(`${maps}?watch=1&resourceVersion=${before}`, (event) => events.push(event)).ended;
      assert.deepEqual(
        events.map(({ object }) => object['code']),
        [410],
      );
    }
    // On another machine, which has only the backup.
    await mustRun('restore', file, '--data-dir', other);
    await using server = await startFairlead(other, ['server']);
    using connection = await connectionTo(other, server.process.out);
    assert.equal((await connection.ask('GET', `${services}/web`)).body.spec.clusterIP, address);
  });

  it('is complete or absent when the restore is killed or the backup is damaged, and it can be repeated', async () => {
    await using folder = await temporaryDirectory();
    const file = join(folder.path, 'x.backup');
    writeLarge(file, 20_000);
    const text = readFileSync(file, 'utf8');
    const clusters = join(folder.path, 'clusters', 'fairlead');
    using restoring = spawn(process.execPath, [launcher, 'store', 'restore', '-', '--data-dir', folder.path], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    restoring.stdin.on('error', () => undefined); // it is killed
    restoring.stdin.write(text.slice(0, text.length / 2));
    await until('the restore has begun', () => existsSync(join(clusters, 'store.restore.db')));
    restoring.kill('SIGKILL');
    await once(restoring, 'close');
    assert.ok(!existsSync(join(clusters, 'store.db')));
    const cut = join(folder.path, 'cut.backup');
    writeFileSync(cut, text.slice(0, text.length / 2));
    const truncated = await store(['restore', cut, '--data-dir', folder.path]);
    assert.equal(truncated.code, 1);
    assert.match(truncated.err, /^fairlead: \S+cut\.backup is truncated after line \d+: use another backup\n$/);
    assert.deepEqual(readdirSync(clusters), []);
    await mustRun('restore', file, '--data-dir', folder.path);
    const again = join(folder.path, 'again.backup');
    await mustRun('backup', again, '--data-dir', folder.path);
    const values = ({ records }: Read): unknown => [...records].map(([key, [, value]]) => [key, value]);
    assert.deepEqual(values(readBackup(again)), values(readBackup(file)));
    assert.deepEqual(readdirSync(clusters).toSorted(), ['store.db', 'store.db-revision']);
  });

  it('of 100,000 objects needs little memory', async () => {
    await using folder = await temporaryDirectory();
    const file = join(folder.path, 'x.backup');
    writeLarge(file, 100_000, 600);
    assert.ok(statSync(file).size > 60 << 20);
    const env = { NODE_OPTIONS: '--max-old-space-size=48' };
    const restored = await store(['restore', file, '--data-dir', folder.path], { env });
    assert.equal(restored.code, 0, restored.err);
    await using server = await startFairlead(folder.path, ['server']);
    const again = join(folder.path, 'again.backup');
    const backup = await store(['backup', again, '--kubeconfig', server.kubeconfig], { env });
    assert.equal(backup.code, 0, backup.err);
    assert.ok(statSync(again).size > 60 << 20);
  });
});

const whyNoMounts = [
  ...['unshare', 'mount'].filter((program) => find(program) === undefined).map((program) => `no ${program}`),
  ...(process.getuid?.() === 0 ? [] : ['root must mount file systems']),
];

describe('a full disk', { skip: unless(whyNoMounts) }, () => {
  it('leaves no half of a backup, and no half of a store', async () => {
    await using folder = await temporaryDirectory();
    const [data, small] = [join(folder.path, 'data'), join(folder.path, 'small')];
    const file = join(folder.path, 'x.backup');
    writeLarge(file, 20_000);
    await mustRun('restore', file, '--data-dir', data);
    await mkdir(small);
    const script =
      'mount -t tmpfs -o size=1m,mode=700 tmpfs "$0"; "$@" store backup "$0/x.backup" --data-dir "$DATA" || echo $?; ' +
      '"$@" store restore "$FILE" --data-dir "$0/data" || echo $?; find "$0" -type f';
    const { out, err } = await run(
      'unshare',
      ['--mount', '--propagation', 'private', 'sh', '-c', script, small, process.execPath, launcher],
      { env: { DATA: data, FILE: file } },
    );
    assert.deepEqual(out.trim().split('\n'), ['1', '1', join(small, 'data', 'lock')]);
    const [first = '', second = ''] = err.split('\n');
    assert.match(
      first,
      /^fairlead: \S+x\.backup cannot be written \(no space left on device\): the disk is full: free some space$/,
    );
    assert.match(second, /^fairlead: the disk that holds \S+store\.db is full: free some space$/);
  });
});

async function connectionTo(directory: string, printed: string): Promise<Connection> {
  const port = /https:\/\/127\.0\.0\.1:(\d+)/.exec(printed)?.[1];
  return new Connection(Number(port), await credentialsIn(directory, 'fairlead'));
}
