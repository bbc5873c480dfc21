/**
 * Indents compact JSON by two spaces, as `JSON.stringify(value, null, 2)` does, in pieces of `size` characters and one
 * string more. It reads the text only: neither the value nor the whole text has to be in memory. The JSON comes in
 * pieces too, none of which ends within a string.
 */
export function* prettyPieces(json: Iterable<string>, size: number): Generator<string, void> {
  let out = '';
  let depth = 0;
  /** An object or list has begun; whether it is empty is not known yet. */
  let isOpened = false;
  for (const text of json) {
    for (let at = 0; at < text.length;) {
      const end = tokenEnd(text, at);
      const token = text.slice(at, end);
      at = end;
      const isClosing = token === '}' || token === ']';
      if (isOpened && !isClosing) out += newLine(++depth);
      if (!isOpened && isClosing) out += newLine(--depth);
      isOpened = token === '{' || token === '[';
      out += token;
      if (token === ',') out += newLine(depth);
      else if (token === ':') out += ' ';
      if (out.length < size) continue;
      yield out;
      out = '';
    }
    if (out !== '') yield out; // making the next given piece may be much work
    out = '';
  }
}

const newLine = (depth: number): string => `\n${'  '.repeat(depth)}`;

const structure = '{}[],:';

/** Where the token at `at` ends: a string, a mark of the structure, or a number or word. */
function tokenEnd(text: string, at: number): number {
  if (text[at] === '"') return stringEnd(text, at);
  let end = at + 1;
  if (structure.includes(text.charAt(at))) return end;
  while (end < text.length && !structure.includes(text.charAt(end))) end++;
  return end;
}

function stringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let escapes = 0;
    while (text[quote - escapes - 1] === '\\') escapes++;
    if (escapes % 2 === 0) return quote + 1;
  }
  return text.length;
}
