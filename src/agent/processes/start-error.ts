import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { codeOf, messageOf } from '../../api/error-message.ts';
import { problemDescriptor } from './launch.ts';

/** A process that could not be started, worded as container runtimes do. */
export class StartError extends Error {}

/** Why a program could not be started, worded as by container runtimes. */
export function startMessage(error: Error, program: string): string {
  const hasPath = program.includes('/');
  switch (codeOf(error)) {
    case 'ENOENT':
      return `exec: ${JSON.stringify(program)}: ${hasPath ? 'no such file or directory' : 'executable file not found in $PATH'}`;
    case 'EACCES':
      return `exec: ${JSON.stringify(program)}: permission denied`;
    default:
      return `exec: ${JSON.stringify(program)}: ${messageOf(error)}`;
  }
}

/** Resolves when a launcher has executed its program. Rejects with a StartError that has its words. */
export async function launched({ stdio }: ChildProcess): Promise<void> {
  // A cast: the caller opened a pipe at this descriptor.
  const problems = stdio[problemDescriptor] as Readable;
  let text = '';
  problems.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  await new Promise<void>((resolve) => problems.once('close', resolve).once('error', () => resolve()));
  if (text !== '') throw new StartError(text.trim());
}
