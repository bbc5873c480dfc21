import type { WatchCache } from '../cache/watch-cache.ts';

/** How many stored objects cannot be decrypted, and one of them; undefined if all can. */
export function unreadableText({ caches }: Pick<WatchCache, 'caches'>): string | undefined {
  const unreadable = Array.from(caches, (cache) => cache.unreadable).filter(({ size }) => size > 0);
  const [first] = unreadable[0] ?? [];
  if (first === undefined) return undefined;
  const [key, { message }] = first;
  const count = unreadable.reduce((sum, { size }) => sum + size, 0);
  const others = count === 1 ? '' : ` (and ${count - 1} more)`;
  return `${key} cannot be read${others}: ${message}: add its key to the file of --encryption-provider-config`;
}
