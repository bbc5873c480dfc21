import { spawn } from 'node:child_process';

/** A program and its first arguments, such as `['nft']`, or one that runs it elsewhere. */
export type ProgramLine = readonly [string, ...string[]];

/** What a program said before it ended. `code` is null when it was killed, `ENOENT` when there is no such program. */
export interface Finished {
  readonly code: number | 'ENOENT' | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** How long a program may take, and what it reads. */
export interface RunSettings {
  readonly input?: string;
  readonly timeoutMs: number;
}

/** Runs a program to its end. Never rejects but for what the system cannot do at all. */
export function runProgram(
  [command, ...first]: ProgramLine,
  args: readonly string[],
  { input = '', timeoutMs }: RunSettings,
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...first, ...args], { stdio: 'pipe', timeout: timeoutMs, killSignal: 'SIGKILL' });
    const said = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') resolve({ code: 'ENOENT', ...said });
      else reject(error);
    });
    child.on('close', (code) => resolve({ code, ...said }));
    // It may end without reading; how it ended says why.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}
