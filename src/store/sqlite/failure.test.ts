// The disk of an open store fails and recovers.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { openSqliteStore } from './sqlite.ts';
import { folder } from './testing/folder.ts';

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;

/** A process that writes to a store; see testing/steady-writer.ts. */
class SteadyWriter implements AsyncDisposable {
  readonly lines: string[] = [];
  readonly #child;
  readonly #ended: Promise<unknown>;

  constructor(path: string) {
    const program = fileURLToPath(new URL('./testing/steady-writer.ts', import.meta.url));
    this.#child = spawn(process.execPath, [program, path], { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.lines.push(line));
    this.#ended = new Promise((resolve) => this.#child.on('close', resolve));
  }

  /** Waits for `count` more lines that begin with `start`. */
  async next(start: string, count = 1): Promise<string> {
    const from = this.lines.length;
    for (const deadline = Date.now() + 60_000; ;) {
      const found = this.lines.slice(from).filter((line) => line.startsWith(start));
      if (found.length >= count) return found[0] ?? '';
      assert.ok(Date.now() < deadline, `no "${start}" in ${this.lines.slice(from, from + 5).join(' | ')}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** The maximum file size; a write beyond it fails with EFBIG, which SQLite reports as an I/O error. */
  limitFiles(bytes: number | 'unlimited'): void {
    const { status, stderr } = spawnSync('prlimit', ['--pid', String(this.#child.pid), `--fsize=${bytes}:`]);
    assert.equal(status, 0, String(stderr));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    await this.#ended;
  }
}

describe('a store whose disk fails', () => {
  it(
    'rejects writes and serves reads, and opens the file again when it can be written, without a gap for watches',
    { skip: hasPrlimit ? false : 'prlimit is not installed' },
    async () => {
      await using directory = await folder();
      const writer = new SteadyWriter(directory.path);
      {
        await using _ = writer;
        await writer.next('ok', 20);
        for (let round = 0; round < 3; round++) {
          writer.limitFiles(4096);
          const failed = await writer.next('failed');
          assert.match(
            failed,
            /nothing was written, writing to .*store\.db failed \(.*\): check the disk; the store is/,
          );
          assert.match(await writer.next('status', 3), /^status true nothing was written/);
          writer.limitFiles('unlimited');
          await writer.next('ok', 20);
        }
      }
      const { lines } = writer;
      assert.ok(!lines.includes('the watch has ended') && !lines.includes('reads and the watch differ'));
      const acknowledged = new Map<string, number>();
      for (const line of lines) {
        const [outcome, revision, number] = line.split(' ');
        if (outcome === 'ok') acknowledged.set(`k${number}`, Number(revision));
      }
      assert.equal(lines.at(-1), `seen ${[...acknowledged.values()].join(',')}`);
      await using store = await openSqliteStore({ path: directory.path });
      const { entries } = await store.range('');
      assert.deepEqual(new Map(entries.map(({ key, revision }) => [key, revision])), acknowledged);
      assert.equal(store.status().damaged.size, 0);
    },
  );
});
