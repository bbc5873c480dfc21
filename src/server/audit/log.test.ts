import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';

import { AuditLog, backupName, backupsToRemove, parseBackupName } from './log.ts';
import type { AuditLogOptions } from './log.ts';
import { auditPathOfCluster } from './options.ts';

let directory = '';
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fairlead-audit-'));
});
after(() => rm(directory, { recursive: true }));

let count = 0;
const options = (given: Partial<AuditLogOptions> = {}): AuditLogOptions => ({
  path: join(directory, String(++count), 'audit.log'),
  maxBytes: 1 << 20,
  maxBackups: 0,
  maxAgeDays: 0,
  clock: () => Date.UTC(2026, 10, 15),
  onError: (error) => assert.fail(String(error)),
  ...given,
});

test('writes lines in order, and all of them before it closes', async () => {
  const given = options();
  {
    await using log = await AuditLog.open(given);
    for (let index = 0; index < 1000; index++) log.write(`${index}\n`);
    assert.deepEqual(log.counts, { lines: 1000, dropped: 0 });
  }
  const lines = (await readFile(given.path, 'utf8')).trimEnd().split('\n');
  assert.deepEqual(
    lines,
    Array.from({ length: 1000 }, (_, index) => String(index)),
  );
  assert.equal((await stat(given.path)).mode & 0o777, 0o600);
});

test('appends to an existing file', async () => {
  const given = options();
  for (const text of ['one\n', 'two\n']) {
    await using log = await AuditLog.open(given);
    log.write(text);
  }
  assert.equal(await readFile(given.path, 'utf8'), 'one\ntwo\n');
});

test('rotates a full file and removes the oldest rotated one', async () => {
  let time = Date.UTC(2026, 10, 15);
  const given = options({ maxBytes: 9, maxBackups: 2, clock: () => time });
  await using log = await AuditLog.open(given);
  for (let index = 0; index < 5; index++) {
    log.write(`line ${index} is long\n`);
    await log.flush();
    time += 1000;
  }
  const names = (await readdir(join(given.path, '..'))).toSorted();
  assert.deepEqual(names, ['audit-2026-11-15T00-00-03.000.log', 'audit-2026-11-15T00-00-04.000.log', 'audit.log']);
  assert.equal(await readFile(join(given.path, '..', names[1] ?? ''), 'utf8'), 'line 4 is long\n');
  assert.equal(await readFile(given.path, 'utf8'), '');
});

const hasFull = existsSync('/dev/full') ? false : 'there is no /dev/full here';
test('reports a full disk once and does not block', { skip: hasFull }, async () => {
  const errors: unknown[] = [];
  // A device that is always full.
  await using log = await AuditLog.open(options({ path: '/dev/full', onError: (error) => errors.push(error) }));
  for (let index = 0; index < 3; index++) {
    log.write('lost\n');
    await log.flush();
  }
  assert.equal(errors.length, 1);
  assert.match(String(errors[0]), /ENOSPC/);
  assert.deepEqual(log.counts, { lines: 3, dropped: 3 });
});

test('drops lines that a slow disk does not accept in time', async () => {
  await using log = await AuditLog.open(options({ maxBytes: Infinity }));
  const line = `${'x'.repeat((1 << 20) - 1)}\n`;
  for (let index = 0; index < 20; index++) log.write(line);
  assert.deepEqual(log.counts, { lines: 20, dropped: 12 });
  await log.flush();
  log.write(line);
  assert.equal(log.counts.dropped, 12);
});

test('rejects a log that cannot be opened', async () => {
  const { path } = options();
  await (await AuditLog.open(options({ path })))[Symbol.asyncDispose]();
  await truncate(path, 0);
  await assert.rejects(AuditLog.open(options({ path: join(path, 'in-a-file', 'audit.log') })), /ENOTDIR/);
});

test('each of several clusters has its own file', () => {
  assert.equal(auditPathOfCluster('/var/log/audit.log', 'east'), '/var/log/audit-east.log');
  assert.equal(auditPathOfCluster('audit', 'west'), 'audit-west');
});

const time = Date.UTC(2026, 10, 15, 9, 21, 21, 7);

suite('names of rotated files', () => {
  const table: readonly [name: string, backup: string][] = [
    ['audit.log', 'audit-2026-11-15T09-21-21.007.log'],
    ['audit-east.log', 'audit-east-2026-11-15T09-21-21.007.log'],
    ['audit', 'audit-2026-11-15T09-21-21.007'],
  ];
  for (const [name, backup] of table) {
    test(name, () => {
      assert.equal(backupName(name, time), backup);
      assert.equal(parseBackupName(name, backup), time);
    });
  }

  test('does not parse names of other files', () => {
    for (const other of [
      'audit.log',
      'audit-east.log',
      'audit-east-2026-11-15T09-21-21.007.log',
      'audit-2026-11-15T09-21-21.007.log.gz',
      'other-2026-11-15T09-21-21.007.log',
    ]) {
      assert.equal(parseBackupName('audit.log', other), undefined, other);
    }
  });
});

suite('removed files', () => {
  const day = 24 * 60 * 60 * 1000;
  const backups = [3, 1, 2, 9].map((days) => ({ name: `${days} days old`, time: time - days * day }));
  const table: readonly { maxBackups: number; maxAgeDays: number; want: readonly string[] }[] = [
    { maxBackups: 0, maxAgeDays: 0, want: [] },
    { maxBackups: 2, maxAgeDays: 0, want: ['3 days old', '9 days old'] },
    { maxBackups: 9, maxAgeDays: 5, want: ['9 days old'] },
    { maxBackups: 1, maxAgeDays: 5, want: ['2 days old', '3 days old', '9 days old'] },
  ];
  for (const { maxBackups, maxAgeDays, want } of table) {
    test(`at most ${maxBackups}, at most ${maxAgeDays} days old`, () => {
      const removed = backupsToRemove(backups, { maxBackups, maxAgeDays, now: time });
      assert.deepEqual(
        removed.map(({ name }) => name),
        want,
      );
    });
  }
});
