// The files of the page, compressed and in memory.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { PageSources } from './build-page.ts';
import { buildPage, pageFileNames } from './build-page.ts';

/** A file as it is served. */
export interface PageFile {
  readonly type: string;
  readonly plain: Uint8Array;
  readonly gzip: Uint8Array;
  readonly etag: string;
}

const source = fileURLToPath(new URL('../page/main.tsx', import.meta.url));
/** Where `npm run build` writes the page. A clone has its source, and never serves an older build. */
const built = fileURLToPath(new URL('../../../dist/page', import.meta.url));

/** Path of a URL → file. */
export async function readPageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const sources = existsSync(source) ? await buildPage(source) : await readBuilt();
  const files = Array.from(sources, async ([name, content]) => {
    const path = name === 'page.html' ? '/' : `/${name}`;
    return [path, await fileOf(name, content)] as const;
  });
  return new Map(await Promise.all(files));
}

async function readBuilt(): Promise<PageSources> {
  const files = pageFileNames.map(async (name) => [name, await readFile(join(built, name))] as const);
  return new Map(await Promise.all(files));
}

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

async function fileOf(name: string, content: Uint8Array): Promise<PageFile> {
  return {
    type: types[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    plain: content,
    gzip: await promisify(gzip)(content, { level: 9 }),
    etag: `"${createHash('sha256').update(content).digest('base64url').slice(0, 16)}"`,
  };
}
