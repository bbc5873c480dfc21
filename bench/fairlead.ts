import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { cpuSecondsOf, firstAnswer, freePort, residentBytesOf, start, stopAll } from './process.ts';
import type { Running } from './process.ts';

const token = 'bench-token';

/** This project's API server with its default store, as `fairlead up` runs it; `users` are further lines of its token file. */
export async function startFairlead(users = '', flags: readonly string[] = []): Promise<Running> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-'));
  const tokens = join(directory, 'tokens.csv');
  await writeFile(tokens, `${token},bench,1,"system:masters"\n${users}\n`);
  const program = new URL('../bin/fairlead.js', import.meta.url).pathname;
  const port = await freePort();
  const args = [program, 'up', '--cluster', 'bench', '--parts', 'server', '--data-dir', join(directory, 'data')];
  const child = start(process.execPath, [
    ...args,
    '--port-base',
    String(port),
    '--token-auth-file',
    tokens,
    '--service-cluster-ip-range',
    '10.0.0.0/16',
    ...flags,
  ]);
  const target = { host: '127.0.0.1', port, token };
  const coldStartMs = await firstAnswer(target, '/api/v1/namespaces/default/services/kubernetes');
  const pids = [child.pid ?? 0];
  return {
    name: 'fairlead',
    target,
    coldStartMs,
    cpuSeconds: () => cpuSecondsOf(pids),
    residentBytes: () => residentBytesOf(pids),
    async stop() {
      await stopAll([child]);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
