// Backups as files, and as standard input and output.

import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';

import { fileErrorOf } from '../../api/error-message.ts';
import { LineSplitter } from '../../client/line-splitter.ts';
import { replaceFile } from '../../machine/replace-file.ts';
import { writeError } from '../../server/pki/files.ts';
import { FatalError } from '../errors.ts';

/** The FILE of standard input and output. */
export const standard = '-';

/** The name of a FILE that is read, for messages. */
export const nameOfFile = (file: string): string => (file === standard ? 'standard input' : file);

const writeLength = 256 << 10;

/** Writes the lines to standard output, at the pace of its reader. */
export async function writeToOutput(lines: AsyncIterable<string>): Promise<void> {
  const { stdout } = process;
  const failed = new FatalError('cannot write to standard output: its reader has closed it');
  for await (const piece of piecesOf(lines)) {
    if (stdout.destroyed || stdout.errored !== null) throw failed;
    if (stdout.write(piece)) continue;
    // Rejects after an error; a destroyed stream only closes.
    await Promise.race([once(stdout, 'drain'), once(stdout, 'close')]).catch(() => {
      throw failed;
    });
  }
}

/**
 * Writes the lines to a new file that only its owner can read. The file appears when it is complete and durable: a failure
 * leaves nothing, or the previous file.
 */
export async function writeToFile(
  path: string,
  lines: AsyncIterable<string>,
  { overwrites }: { readonly overwrites: boolean },
): Promise<void> {
  if (!overwrites && (await exists(path))) {
    throw new FatalError(`${path} exists: pass --overwrite to replace it, or choose another file`);
  }
  try {
    await replaceFile(path, piecesOf(lines), 0o600);
  } catch (error) {
    const isOfFile = error instanceof Error && 'errno' in error && 'syscall' in error;
    throw isOfFile ? writeError(path, error) : error;
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Joins lines to pieces, since a write of each line would be slow. */
async function* piecesOf(lines: AsyncIterable<string>): AsyncGenerator<string, void> {
  let piece = '';
  for await (const line of lines) {
    piece += `${line}\n`;
    if (piece.length < writeLength) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

/** The lines of a backup file or of standard input. */
export async function* linesOf(path: string): AsyncGenerator<string, void> {
  const input = path === standard ? process.stdin : createReadStream(path);
  const decoder = new StringDecoder('utf8');
  const splitter = new LineSplitter();
  try {
    // Both streams yield buffers without an encoding.
    for await (const bytes of input as AsyncIterable<Buffer>) yield* splitter.push(decoder.write(bytes));
  } catch (error) {
    throw new FatalError(`cannot read ${nameOfFile(path)}: ${fileErrorOf(error)}`, {
      cause: error,
    });
  }
}
