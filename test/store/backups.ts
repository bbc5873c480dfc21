// `fairlead store` as a process, and backups to try it with.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { encodeBackup } from '../../src/store/backup/format.ts';
import type { Entry } from '../../src/store/store.ts';
import type { Result } from '../harness/command.ts';
import { run } from '../harness/command.ts';
import { root } from '../harness/process.ts';

export const launcher = join(root, 'bin', 'fairlead.js');

/** Runs `fairlead store …`. */
export const store = (
  args: readonly string[],
  { env = {}, cwd = root }: { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string } = {},
): Promise<Result> => run(process.execPath, [launcher, 'store', ...args], { env, cwd, timeoutMs: 120_000 });

export async function mustRun(...args: readonly string[]): Promise<Result> {
  const result = await store(args);
  assert.equal(result.code, 0, result.err);
  return result;
}

/** Writes a backup with ConfigMaps. */
export function writeLarge(file: string, count: number, bytes = 100): void {
  function* entries(): Generator<Entry, void> {
    for (let index = 0; index < count; index++) {
      const name = `map-${String(index).padStart(6, '0')}`;
      const metadata = { name, namespace: 'default', uid: `uid-${index}`, creationTimestamp: '2026-01-01T00:00:00Z' };
      const value = JSON.stringify({
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata,
        data: { text: 'x'.repeat(bytes) },
      });
      yield { key: `/registry/configmaps/default/${name}`, value, revision: 2 + index, created: 2 + index };
    }
  }
  const header = { kind: 'FairleadBackup', version: 1, cluster: 'fairlead', revision: count + 2, time: '' } as const;
  writeFileSync(file, [...encodeBackup({ header, entries: entries() })].join(''));
}
