/**
 * Indents compact JSON by two spaces, like `JSON.stringify(value, null, 2)`, in pieces of `size` characters plus at most
 * one token. Neither the value nor the whole text has to be in memory. No piece of the input may end within a string.
 */
export function* prettyPieces(json: Iterable<string>, size: number): Generator<string, void> {
  let out = '';
  let depth = 0;
  /** The previous token opened an object or list, which may be empty. */
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
    if (out !== '') yield out; // producing the next input piece may be expensive
    out = '';
  }
}

const newLine = (depth: number): string => `\n${'  '.repeat(depth)}`;

const structure = '{}[],:';

/** The end of the token at `at`: a string, a structural character, or a literal. */
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
