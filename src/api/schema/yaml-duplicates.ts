import { EVENT_ID, parseEvents } from 'js-yaml';

import { maxJsonDepth } from './json-scan.ts';
import { maxProblems } from './path.ts';

/** A mapping or sequence that is open. */
interface Open {
  /** The keys so far; undefined in a sequence. */
  readonly keys: Set<string> | undefined;
  isKeyNext: boolean;
}

/**
 * The repeated keys of a valid YAML or JSON document with their lines, as Go reports them: `line 9: key "foo" already set in
 * map`. At most the first 100.
 */
export function duplicateKeys(text: string): readonly string[] {
  const found: string[] = [];
  const open: Open[] = [];
  const lineOf = lineCounter(text);
  for (const event of parseEvents(text, { maxDepth: maxJsonDepth })) {
    if (found.length === maxProblems) break;
    if (event.type === EVENT_ID.DOCUMENT) continue;
    if (event.type === EVENT_ID.POP) {
      open.pop();
      continue;
    }
    const parent = open.at(-1);
    const isKey = parent?.keys !== undefined && parent.isKeyNext;
    if (parent?.keys !== undefined) parent.isKeyNext = !parent.isKeyNext;
    if (event.type === EVENT_ID.MAPPING) open.push({ keys: new Set(), isKeyNext: true });
    else if (event.type === EVENT_ID.SEQUENCE) open.push({ keys: undefined, isKeyNext: false });
    else if (isKey && event.type === EVENT_ID.SCALAR) {
      const key = text.slice(event.valueStart, event.valueEnd);
      if (parent.keys.has(key)) found.push(`line ${lineOf(event.valueStart)}: key "${key}" already set in map`);
      parent.keys.add(key);
    }
  }
  return found;
}

/** Counts lines up to ascending offsets. */
function lineCounter(text: string): (offset: number) => number {
  let [line, at] = [1, 0];
  return (offset) => {
    for (let next = text.indexOf('\n', at); next !== -1 && next < offset; next = text.indexOf('\n', at)) {
      line++;
      at = next + 1;
    }
    return line;
  };
}
