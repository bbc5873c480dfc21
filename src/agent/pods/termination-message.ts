import { open } from 'node:fs/promises';
import { logFiles } from '../processes/log-file.ts';

const maxBytes = 4096;
const maxLogBytes = 2048;
const maxLogLines = 80;

/** Where a container leaves its termination message, and its log. */
export interface MessageSources {
  readonly file: string;
  readonly log: string;
  /** Whether to use the log if the file is empty. */
  readonly fallsBack: boolean;
}

/** The termination message of a container that ended; '' if it left none. */
export async function terminationMessage({ file, log, fallsBack }: MessageSources): Promise<string> {
  const message = await lastBytes(file, maxBytes);
  if (message !== '' || !fallsBack) return message;
  const [last] = (await logFiles(log)).slice(-1);
  if (last === undefined) return '';
  // The text is what follows time, stream and tag. Of the bytes read, the first line may be incomplete.
  const lines = (await lastBytes(last, 4 * maxLogBytes)).split('\n').filter((line) => line !== '');
  const text = lines
    .map((line) => line.split(' ').slice(3).join(' '))
    .slice(-maxLogLines)
    .join('\n');
  return Buffer.from(text).subarray(-maxLogBytes).toString('utf8');
}

async function lastBytes(path: string, count: number): Promise<string> {
  try {
    await using file = await open(path, 'r');
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(Math.min(size, count)),
      0,
      undefined,
      Math.max(0, size - count),
    );
    return buffer.subarray(0, bytesRead).toString('utf8');
  } catch {
    return ''; // the container did not write it
  }
}
