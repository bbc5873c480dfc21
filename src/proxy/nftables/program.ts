import { spawn } from 'node:child_process';

/** A program and its first arguments, such as `['nft']`, or one that runs it elsewhere. */
export type ProgramLine = readonly [string, ...string[]];

/** The result of a program. `code` is null if it was killed, `ENOENT` if it does not exist. */
export interface Finished {
  readonly code: number | 'ENOENT' | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The timeout and the input of a program. */
export interface RunSettings {
  readonly input?: string;
  readonly timeoutMs: number;
}

/** Runs a program to its end. Rejects only if the system cannot start processes. */
export function runProgram(
  [command, ...first]: ProgramLine,
  args: readonly string[],
  { input = '', timeoutMs }: RunSettings,
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...first, ...args], { stdio: 'pipe', timeout: timeoutMs, killSignal: 'SIGKILL' });
    const output = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') resolve({ code: 'ENOENT', ...output });
      else reject(error);
    });
    child.on('close', (code) => resolve({ code, ...output }));
    // It may exit without reading its input; the exit code has the reason.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}
