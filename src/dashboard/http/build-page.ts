// Bundles the page for browsers. A clone does this at the first visit, so that no build step is necessary; the published
// package contains the result.
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** File name → content. */
export type PageSources = ReadonlyMap<string, Uint8Array>;

/** Bundles `main.tsx` and its styles. esbuild is a development dependency, and only loaded here. */
export async function buildPage(main: string): Promise<PageSources> {
  const { build, stop } = await import('esbuild');
  const folder = dirname(main);
  const { outputFiles } = await build({
    entryPoints: [main],
    bundle: true,
    minify: true,
    write: false,
    outdir: folder,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'silent',
  });
  await stop(); // ends its process
  const named = outputFiles.map(
    ({ path, contents }) => [path.endsWith('.css') ? 'page.css' : 'page.js', contents] as const,
  );
  const copied = ['page.html', 'icon.svg'].map(async (name) => [name, await readFile(join(folder, name))] as const);
  return new Map<string, Uint8Array>([...named, ...(await Promise.all(copied))]);
}

/** The names of the files of the page. */
export const pageFileNames: readonly string[] = ['page.html', 'page.js', 'page.css', 'icon.svg'];
