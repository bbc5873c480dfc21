import { lstat, readlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Symbolic links in one path, as in the kernel. */
const maxLinks = 40;

/**
 * Resolves the symbolic links of an absolute path in a root directory that consists of layers; the first layer that has a path
 * decides. A link to `/run` means the one of the root directory. Parts that do not exist stay as they are.
 */
export async function layeredPath(layers: readonly string[], path: string): Promise<string> {
  let resolved = '/';
  const rest = path.split('/').toReversed();
  let links = 0;
  for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      resolved = join(resolved, '..');
      continue;
    }
    const next = join(resolved, name);
    const target = await linkIn(layers, next);
    if (target === undefined) {
      resolved = next;
      continue;
    }
    links++;
    if (links > maxLinks) throw new Error(`${path}: too many symbolic links`);
    if (target.startsWith('/')) resolved = '/';
    rest.push(...target.split('/').toReversed());
  }
  return resolved;
}

/** The target of a path in the first layer that has it; undefined: it is not a link. */
async function linkIn(layers: readonly string[], path: string): Promise<string | undefined> {
  for (const layer of layers) {
    const found = await lstat(join(layer, path)).catch(() => undefined);
    if (found !== undefined) return found.isSymbolicLink() ? readlink(join(layer, path)) : undefined;
  }
  return undefined;
}
