import { spawn } from 'node:child_process';
import { launcherEnvironment } from './launch.ts';

/** Runs a program of the machine. Rejects with its errors if it does not exit with 0. */
export async function runProgram([program = '', ...args]: readonly string[], input = ''): Promise<void> {
  const child = spawn(program, args, { env: launcherEnvironment, cwd: '/', stdio: ['pipe', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  child.stdin.on('error', () => undefined); // it has ended
  child.stdin.end(input);
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`${program} ${args.join(' ')}: ${errors.trim()}`)),
    );
  });
}
