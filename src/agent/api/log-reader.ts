import { watch } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';

import { codeOf } from '../../api/error-message.ts';
import { setTimeout } from '../../machine/timers.ts';
import type { LogOptions } from './log-lines.ts';
import { LogFormatter, TailCounter } from './log-lines.ts';

/** A log that is read. */
export interface LogSource {
  /** The files that exist, oldest first; the last one is being written. */
  files(): Promise<readonly string[]>;
  /** Whether more may be written. */
  isLive(): boolean;
}

const blockBytes = 64 * 1024;
/** How often to look for new output where a change was not noticed. */
const pollMs = 1000;

interface OpenFile {
  readonly path: string;
  readonly handle: FileHandle;
  readonly inode: bigint;
  position: number;
}

/** Reads a log as a caller wants it, in pieces, until its end or, when it is followed, until it can have no more. */
export async function* readLog(
  source: LogSource,
  options: LogOptions,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  const formatter = new LogFormatter(options);
  let files = await openLog(source);
  using changes = options.follow ? new Changes(files.at(-1)?.path, signal) : undefined;
  try {
    if (options.tailLines !== undefined) await skipToTail(files, options.tailLines);
    for (;;) {
      for (const file of files) {
        for await (const block of blocks(file)) {
          const output = formatter.push(block);
          if (output.length > 0) yield output;
          if (formatter.isFull || signal.aborted) return;
        }
      }
      if (!options.follow || signal.aborted) return;
      const wasLive = source.isLive();
      const next = await nextFiles(source, files);
      // What was written before the end is read once more.
      if (next.hasMore) files = next.files;
      else if (!wasLive) return;
      else {
        files = next.files;
        await changes?.next();
      }
    }
  } finally {
    await closeAll(files);
  }
}

async function* blocks(file: OpenFile): AsyncGenerator<Buffer, void> {
  for (;;) {
    const { bytesRead, buffer } = await file.handle.read(Buffer.allocUnsafe(blockBytes), 0, blockBytes, file.position);
    if (bytesRead === 0) return;
    file.position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** How often to begin again when files are renamed while they are opened. */
const maxAttempts = 10;

/** Opens the files of a log. A rotation meanwhile would hide the file that was just renamed: then it begins again. */
async function openLog(source: LogSource): Promise<OpenFile[]> {
  for (let attempt = 1; ; attempt++) {
    const paths = await source.files();
    const files = await openAll(paths);
    const isComplete = files.length === paths.length && isSame(paths, await source.files());
    if (isComplete || attempt >= maxAttempts) return files;
    await closeAll(files);
  }
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((path, index) => path === other[index]);

async function openAll(paths: readonly string[]): Promise<OpenFile[]> {
  const files: OpenFile[] = [];
  for (const path of paths) {
    try {
      const handle = await open(path, 'r');
      const { ino: inode } = await handle.stat({ bigint: true });
      files.push({ path, handle, inode, position: 0 });
    } catch (error) {
      if (codeOf(error) === 'ENOENT') continue; // rotated away meanwhile
      await closeAll(files);
      throw error;
    }
  }
  return files;
}

const closeAll = async (files: readonly OpenFile[]): Promise<void> => {
  await Promise.all(files.map(({ handle }) => handle.close().catch(() => undefined)));
};

/** Moves the positions to the last lines. */
async function skipToTail(files: readonly OpenFile[], lines: number): Promise<void> {
  const counter = new TailCounter(lines);
  let isFound = false;
  for (const file of files.toReversed()) {
    const { size } = await file.handle.stat();
    if (isFound || lines === 0) {
      file.position = size;
      continue;
    }
    for (let end = size; end > 0 && !isFound;) {
      const start = Math.max(0, end - blockBytes);
      const { buffer, bytesRead } = await file.handle.read(Buffer.alloc(end - start), 0, end - start, start);
      const found = counter.push(buffer.subarray(0, bytesRead));
      if (found !== undefined) {
        file.position = start + found;
        isFound = true;
      }
      end = start;
    }
    if (isFound) continue;
    counter.fileStart();
    if (counter.left === 0) isFound = true;
  }
}

/** The files to read next: those that are newer than the last one, which stays open if it is still the current one. */
async function nextFiles(
  source: LogSource,
  files: readonly OpenFile[],
): Promise<{ readonly files: OpenFile[]; readonly hasMore: boolean }> {
  const last = files.at(-1);
  const now = await openLog(source);
  if (last !== undefined && now.length === 0) return { files: [...files], hasMore: false }; // between a rename and the next file
  const index = last === undefined ? -1 : now.findIndex(({ inode }) => inode === last.inode);
  const known = now[index];
  if (last === undefined || known === undefined) {
    await closeAll(files);
    return { files: now, hasMore: now.length > 0 };
  }
  // The open file continues where it was read to.
  await closeAll([...now.slice(0, index + 1), ...files.slice(0, -1)]);
  const { size } = await last.handle.stat();
  const newer = now.slice(index + 1);
  return { files: [last, ...newer], hasMore: size > last.position || newer.length > 0 };
}

/** Notices changes in a directory. */
class Changes implements Disposable {
  readonly #watcher: { close(): void } | undefined;
  #hasChanged = false;
  #notify: () => void = () => undefined;

  constructor(path: string | undefined, signal: AbortSignal) {
    this.#watcher = path === undefined ? undefined : watchOf(dirname(path), () => this.#changed());
    signal.addEventListener('abort', () => this.#changed(), { once: true });
  }

  /** Resolves when something has changed since the last call, or after a while. */
  async next(): Promise<void> {
    if (!this.#hasChanged) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#notify = resolve;
      const timer = setTimeout(resolve, pollMs);
      await promise;
      clearTimeout(timer);
    }
    this.#hasChanged = false;
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
  }

  #changed(): void {
    this.#hasChanged = true;
    this.#notify();
  }
}

function watchOf(directory: string, changed: () => void): { close(): void } | undefined {
  try {
    const watcher = watch(directory, { persistent: false }, changed);
    watcher.on('error', changed);
    return watcher;
  } catch {
    return undefined; // the system has no watches left: polls follow
  }
}
