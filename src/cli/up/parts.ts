import { UsageError } from '../errors.ts';
import { parts as registered } from '../parts.ts';

/** The parts a cluster can run, in the order they start. */
export const partNames = [
  'server',
  'controllers',
  'dns',
  'proxy',
  'loadbalancer',
  'multicluster',
  'reaper',
  'publisher',
  'dashboard',
] as const;
export type PartName = (typeof partNames)[number];

/** The parts that exist. The others can be named, and are absent until they do. */
export const builtParts: ReadonlySet<PartName> = new Set(
  partNames.filter((name) => name === 'server' || name in registered),
);

/** Reads `--parts server,dns`. The server is always among them: `up` has nothing else to connect a part to. */
export function parseParts(text: string): ReadonlySet<PartName> {
  const parts = new Set<PartName>();
  for (const word of text.split(',').map((part) => part.trim())) {
    const name = partNames.find((candidate) => candidate === word);
    if (name === undefined) throw new UsageError(`unknown part "${word}": the parts are ${partNames.join(', ')}`);
    parts.add(name);
  }
  if (!parts.has('server')) throw new UsageError('"server" is missing: the other parts need it');
  return parts;
}
