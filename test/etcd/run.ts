// Runs tests of servers with their clusters in etcd instead of in SQLite: stories with kubectl, kills, and the comparison of
// watches with lists.
//   npm run test:etcd            # a short run, as in CI
//   npm run test:etcd -- --long  # all stories, 200 kills, a minute of comparisons, 200 faults of servers and members

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';

import { startEtcd } from '../../src/store/etcd/testing/etcd.ts';
import { root } from '../harness/process.ts';

interface Run {
  readonly files: readonly string[];
  /** The tests with this in their names; default: all. */
  readonly only?: string;
  readonly env: Readonly<Record<string, string>>;
}

const { values } = parseArgs({ options: { long: { type: 'boolean', default: false } } });

const short: readonly Run[] = [
  { files: ['test/stories.test.ts'], only: '^(create|quota|services) with', env: {} },
  { files: ['test/durability/kill.test.ts'], env: { FAIRLEAD_KILL_ROUNDS: '8' } },
  { files: ['src/server/consistency.test.ts'], env: {} },
];
const long: readonly Run[] = [
  { files: ['test/stories.test.ts'], env: {} },
  { files: ['test/durability/kill.test.ts'], env: { FAIRLEAD_KILL_ROUNDS: '200' } },
  { files: ['src/server/consistency.test.ts'], env: { FAIRLEAD_FUZZ_MS: '60000' } },
  { files: ['test/etcd/faults.test.ts'], env: { FAIRLEAD_FAULT_ROUNDS: '200' } },
];

await using etcd = await startEtcd();
let code = 0;
for (const { files, only, env } of values.long ? long : short) {
  const pattern = only === undefined ? [] : ['--test-name-pattern', only];
  const child = spawn(process.execPath, ['--test', '--test-concurrency=1', ...pattern, ...files], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env, FAIRLEAD_TEST_ETCD: etcd.urls.join(',') },
  });
  const [exitCode]: unknown[] = await once(child, 'exit');
  if (exitCode !== 0) code = 1;
}
process.exitCode = code;
