import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A text, or its pieces. */
type Content = string | AsyncIterable<string>;

/** Replaces a file atomically, so that readers and crashes see the old content or the new. Rejects with errors of `content` too. */
export async function replaceFile(path: string, content: Content, mode: number): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await writeAndSync(temporary, content, mode);
    await rename(temporary, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined); // the first error is the one to report
    throw error;
  }
}

async function writeAndSync(path: string, content: Content, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A rename is durable when its directory is synced. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
