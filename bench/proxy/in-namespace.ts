// Measures rules of the kernel in a network namespace, where there are no others.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import type { Result } from '../api.bench.ts';

const program = fileURLToPath(new URL('rules.ts', import.meta.url));

/** The cost of rules by the program that writes them; kube-proxy by its path. */
export async function measureRules(
  kubeProxy: string | undefined,
  progress: (text: string) => void,
): Promise<Readonly<Record<string, readonly Result[]>>> {
  const child = spawn('unshare', ['--net', process.execPath, program], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: kubeProxy === undefined ? process.env : { ...process.env, KUBE_PROXY: kubeProxy },
  });
  const output: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    output.push(line);
    progress(line);
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (data: string) => (text += data));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', resolve);
  });
  if (code !== 0) throw new Error(`rules could not be measured: ${output.slice(-20).join('\n')}`);
  // A cast where bytes become results: the other end is rules.ts.
  return JSON.parse(text) as Record<string, Result[]>;
}
