import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

import { run } from '../harness/command.ts';
import { find } from '../harness/needs.ts';

/** Why an image cannot run here. */
export const whyNoImage: readonly string[] = [
  ...['unshare', 'setpriv', 'chroot', 'ldd']
    .filter((program) => find(program) === undefined)
    .map((name) => `no ${name}`),
  ...(process.getuid?.() === 0 ? [] : ['root must mount file systems']),
];

/**
 * Assembles the root file system that the last stage of a Containerfile describes, and returns the prefix of a command
 * line that runs its entry point there as a container runtime does: as its user, without privileges, with a read-only
 * root and an empty volume at /data. `stages` has the directories of earlier stages: `build:/build` → what it contains.
 * The base image and its packages are left out; the libraries of the program come from this machine.
 */
export async function assembleImage(
  containerfile: string,
  stages: ReadonlyMap<string, string>,
  directory: string,
): Promise<readonly string[]> {
  let [user, entryPoint, environment]: [string, readonly string[], readonly string[]] = ['0:0', [], []];
  for (const [instruction, rest] of await lastStage(containerfile)) {
    if (instruction === 'COPY') await copy(rest, stages, directory);
    if (instruction === 'ENV') environment = [...environment, rest];
    if (instruction === 'USER') user = rest;
    if (instruction === 'ENTRYPOINT') entryPoint = JSON.parse(rest) as string[]; // its exec form is JSON
  }
  for (const name of ['data', 'dev', 'proc']) await mkdir(join(directory, name));
  await copyLibraries(join(directory, entryPoint[0] ?? ''), directory);
  const mounts = [
    'mount --bind "$ROOT" "$ROOT"',
    'mount -o remount,bind,ro "$ROOT"',
    'mount --rbind /dev "$ROOT/dev"',
    'mount --rbind /proc "$ROOT/proc"',
    'mount -t tmpfs -o mode=1777 tmpfs "$ROOT/data"',
    'exec "$@"',
  ];
  const outside = ['unshare', '--mount', '--propagation', 'private', 'sh', '-ec', mounts.join('; '), 'sh'];
  const rights = ['setpriv', '--no-new-privs', '--bounding-set=-all,+sys_chroot,+setuid,+setgid'];
  const inside = ['env', '-i', ...environment, find('chroot') ?? '', `--userspec=${user}`, directory, ...entryPoint];
  return ['env', `ROOT=${directory}`, ...outside, ...rights, ...inside];
}

/** The instructions of the last stage. */
async function lastStage(containerfile: string): Promise<readonly (readonly [instruction: string, rest: string])[]> {
  const text = (await readFile(containerfile, 'utf8')).replaceAll(/^#.*\n/gm, '').replaceAll('\\\n', '');
  const lines = text.split('\n').filter((line) => line !== '');
  const last = lines.findLastIndex((line) => line.startsWith('FROM '));
  return lines.slice(last).map((line) => [line.split(' ', 1)[0] ?? '', line.slice(line.indexOf(' ') + 1)]);
}

async function copy(rest: string, stages: ReadonlyMap<string, string>, directory: string): Promise<void> {
  const [, stage = '', source = '', target = ''] = /^--from=(\S+) (\S+) (\S+)$/.exec(rest) ?? [];
  const [name, path] = [...stages].find(([root]) => `${stage}:${source}`.startsWith(`${root}/`)) ?? [];
  if (name === undefined || path === undefined) throw new Error(`COPY ${rest}: the stage is not here`);
  const from = join(path, relative(name.slice(name.indexOf(':') + 1), source));
  await mkdir(dirname(join(directory, target)), { recursive: true });
  // Links: nothing is written through them, since the root is read-only.
  const { code, err } = await run('cp', ['--archive', '--link', from, join(directory, target)]);
  if (code !== 0) throw new Error(err);
}

async function copyLibraries(program: string, directory: string): Promise<void> {
  const { out } = await run('ldd', [program]);
  for (const library of out.match(/\/\S+(?= \()/g) ?? []) {
    await mkdir(dirname(join(directory, library)), { recursive: true });
    await run('cp', ['--dereference', library, join(directory, library)]);
  }
}
