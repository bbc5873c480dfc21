import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { backupName, backupsToRemove, parseBackupName } from './backups.ts';

const time = Date.UTC(2026, 10, 15, 9, 21, 21, 7);

suite('names of files that were put aside', () => {
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

  test('other files are not ours to remove', () => {
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

suite('what is removed', () => {
  const day = 24 * 60 * 60 * 1000;
  const backups = [3, 1, 2, 9].map((days) => ({ name: `${days} days old`, time: time - days * day }));
  const table: readonly { maxBackups: number; maxAgeDays: number; want: readonly string[] }[] = [
    { maxBackups: 0, maxAgeDays: 0, want: [] },
    { maxBackups: 2, maxAgeDays: 0, want: ['3 days old', '9 days old'] },
    { maxBackups: 9, maxAgeDays: 5, want: ['9 days old'] },
    { maxBackups: 1, maxAgeDays: 5, want: ['2 days old', '3 days old', '9 days old'] },
  ];
  for (const { maxBackups, maxAgeDays, want } of table) {
    test(`of at most ${maxBackups}, for ${maxAgeDays} days`, () => {
      const removed = backupsToRemove(backups, { maxBackups, maxAgeDays, now: time });
      assert.deepEqual(
        removed.map(({ name }) => name),
        want,
      );
    });
  }
});
