// The published package beside the source that it was built from: start-up, memory, and the clusters of a test.

import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { cpuSecondsOf, residentBytesOf, start, stopAll } from './process.ts';
import { median } from './quantile.ts';

const root = join(import.meta.dirname, '..');

/** Where the command and the library are. */
interface Build {
  readonly name: string;
  readonly main: string;
  readonly library: string;
}

const builds: readonly Build[] = [
  { name: 'package', main: join(root, 'dist/main.js'), library: join(root, 'dist/library.js') },
  { name: 'source', main: join(root, 'src/main.ts'), library: join(root, 'src/library.ts') },
];

/** What is measured of a build, in this order. */
export const packageFigures = [
  '`fairlead help`, ms',
  '`fairlead up` ready, ms',
  'CPU of its start, ms',
  'its memory, MB',
  'first `startCluster()` of a process, with the import, ms',
  'second, ms',
] as const;

const rounds = 9;

/** Builds the package and measures both in turn; build → the medians of its figures. */
export async function measurePackage(
  progress: (text: string) => void,
): Promise<ReadonlyMap<string, readonly number[]>> {
  await promisify(execFile)('npm', ['run', '--silent', 'build'], { cwd: root });
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-package-'));
  const measured = new Map(builds.map(({ name }) => [name, [] as (readonly number[])[]]));
  try {
    // The first round fills the compile caches, like the first start of a user.
    for (let round = 0; round <= rounds; round++) {
      progress(`round ${round} of ${rounds}`);
      for (const build of builds) {
        const figures = await measureOnce(build, directory);
        if (round > 0) measured.get(build.name)?.push(figures);
      }
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  const medians = (all: readonly (readonly number[])[]): readonly number[] =>
    packageFigures.map((_, index) => median(all.map((figures) => figures[index] ?? NaN)));
  return new Map(Array.from(measured, ([name, all]) => [name, medians(all)]));
}

async function measureOnce({ name, main, library }: Build, directory: string): Promise<readonly number[]> {
  const env = { ...process.env, NODE_COMPILE_CACHE: join(directory, name) };
  const node = promisify(execFile);
  const began = performance.now();
  await node(process.execPath, [main, 'help'], { env });
  const helpMs = performance.now() - began;
  const up = await measureUp(main, join(directory, 'data'), env);
  // Tests have no compile cache unless their author configures one.
  const { stdout } = await node(process.execPath, ['--input-type=module', '--eval', clusters, library]);
  return [helpMs, ...up, ...(JSON.parse(stdout) as number[])]; // printed by the program below
}

async function measureUp(main: string, data: string, env: NodeJS.ProcessEnv): Promise<readonly number[]> {
  const flags = ['--cluster', 'bench', '--store', 'memory', '--port-base', '0', '--data-dir', data];
  const began = performance.now();
  const child = start(process.execPath, [main, 'up', ...flags], env);
  try {
    let printed = '';
    for await (const chunk of child.stdout ?? []) {
      printed += String(chunk);
      if (/ready in /.test(printed)) break;
    }
    const pids = [child.pid ?? 0];
    return [performance.now() - began, cpuSecondsOf(pids) * 1000, residentBytesOf(pids) / 1e6];
  } finally {
    await stopAll([child]);
    await rm(data, { recursive: true, force: true });
  }
}

/** Starts two clusters one after the other, and prints how long each took. */
const clusters = `
  const began = performance.now();
  const { startCluster } = await import(process.argv[1]);
  await using first = await startCluster();
  const ready = performance.now();
  await using second = await startCluster({ name: 'second' });
  console.log(JSON.stringify([ready - began, performance.now() - ready]));`;
