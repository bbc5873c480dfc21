// Writes the JavaScript of the published package to dist/: Node runs no TypeScript below node_modules.
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';

import type { Plugin } from 'esbuild';
import { build } from 'esbuild';

import { buildPage } from '../src/dashboard/http/build-page.ts';

const root = dirname(import.meta.dirname);
const source = join(root, 'src');
const output = join(root, 'dist');

/** `new URL('./worker.ts', import.meta.url)`: a file that the code names relative to itself. */
const fileBeside = /new URL\('(\.[^']+)', import\.meta\.url\)/g;

/** The name of a program in dist/, which has no folders: chunks of the bundle find it beside themselves. */
const programName = (path: string): string => relative(source, path).replace(/\.ts$/, '').replaceAll('/', '-');

/** Programs that run in threads and processes of their own, found in the source. */
const programs = new Map<string, string>();

/** Points files that the source names relative to itself to their place relative to dist/. */
const filesBeside: Plugin = {
  name: 'files-beside',
  setup(build) {
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const contents = text.replace(fileBeside, (_, name: string) => {
        const file = resolve(dirname(path), name);
        if (file.endsWith('.ts')) programs.set(programName(file), file);
        const target = file.endsWith('.ts') ? `./${programName(file)}.js` : relative(output, file);
        return `new URL('${target}', import.meta.url)`;
      });
      return { contents, loader: 'ts' };
    });
  },
};

async function bundle(entries: Readonly<Record<string, string>>, write = true): Promise<void> {
  await build({
    entryPoints: entries,
    write,
    absWorkingDir: root,
    outdir: output,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    packages: 'external',
    sourcemap: 'linked',
    sourcesContent: false,
    chunkNames: 'chunk-[hash]',
    plugins: [filesBeside],
    logLevel: 'warning',
  });
}

/** Writes the types of the library. The compiler emits those of all files that it imports too, which nobody needs. */
async function declare(): Promise<void> {
  const all = join(output, 'types');
  await promisify(execFile)(join(root, 'node_modules', '.bin', 'tsc'), ['--project', import.meta.dirname]);
  await cp(join(all, 'src', 'library.d.ts'), join(output, 'library.d.ts'));
  await rm(all, { recursive: true });
}

const entryPoints = { main: join(source, 'main.ts'), library: join(source, 'library.ts') };
await rm(output, { recursive: true, force: true });
await bundle(entryPoints, false);
// The programs are known once everything was read; they share chunks with each other and with the entry points.
await bundle({ ...entryPoints, ...Object.fromEntries(programs) });
await declare();
const page = join(output, 'page');
await mkdir(page);
for (const [name, content] of await buildPage(join(source, 'dashboard', 'page', 'main.tsx'))) {
  await writeFile(join(page, name), content);
}
