import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';

import type { Change, WatchObserver } from '../store.ts';

/** An observer that records changes as `revision key=value<previous`. */
export class Recorder implements WatchObserver {
  readonly changes: Change[] = [];
  readonly calls: { readonly revisions: readonly number[]; readonly revision: number }[] = [];
  readonly ends: Error[] = [];

  onChanges(changes: readonly Change[], revision: number): void {
    this.changes.push(...changes);
    this.calls.push({ revisions: changes.map((change) => change.revision), revision });
  }

  onEnd(error: Error): void {
    this.ends.push(error);
  }

  /** The recorded changes, with the index of their revision in `revisions`. */
  texts(revisions: readonly number[]): string[] {
    return this.changes.map(
      ({ key, revision, entry, previous }) =>
        `${revisions.indexOf(revision)} ${key.slice(-1)}=${entry?.value ?? 'gone'}<${previous?.value ?? 'none'}`,
    );
  }
}

/** Waits until a condition holds, with a deadline. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!condition()) {
    assert.ok(Date.now() < deadline, `timed out waiting until ${what}`);
    await setImmediate();
  }
}
