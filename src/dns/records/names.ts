// Domain names as text, cut at their dots. A dot behind a backslash belongs to its label.
import type { Name } from '../record.ts';

/** The name without its first label; undefined for the root. */
export function parentOf(name: Name): Name | undefined {
  if (name === '') return undefined;
  let dot = name.indexOf('.');
  while (dot > 0 && isEscaped(name, dot)) dot = name.indexOf('.', dot + 1);
  return dot < 0 ? '' : name.slice(dot + 1);
}

/** Whether a name is another one or below it. */
export function isWithin(name: Name, ancestor: Name): boolean {
  if (ancestor === '' || name === ancestor) return true;
  const dot = name.length - ancestor.length - 1;
  return dot > 0 && name.charCodeAt(dot) === dotCode && name.endsWith(ancestor) && !isEscaped(name, dot);
}

const dotCode = 46;
const backslashCode = 92;

/** An odd number of backslashes escapes what follows; an even number are backslashes themselves. */
function isEscaped(name: Name, index: number): boolean {
  let backslashes = 0;
  while (name.charCodeAt(index - 1 - backslashes) === backslashCode) backslashes++;
  return backslashes % 2 === 1;
}
