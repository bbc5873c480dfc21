/** Past this many characters in all, each text is cut short. */
const maxTotal = 4096;
const maxEach = 256;

/** The values of the `Warning` header, one a text, each text once. */
export function warningHeaders(texts: readonly string[]): readonly string[] {
  const distinct = [...new Set(texts)];
  const total = distinct.reduce((sum, text) => sum + text.length, 0);
  const shown =
    total > maxTotal ? distinct.slice(0, maxTotal / maxEach).map((text) => text.slice(0, maxEach)) : distinct;
  return shown.map((text) => `299 - "${escaped(text)}"`);
}

/** Quotes and backslashes are escaped; what a header cannot carry is left out. */
const escaped = (text: string): string =>
  // eslint-disable-next-line no-control-regex -- control characters are what must go
  text
    .replace(/[\u0000-\u001f\u007f]/g, ' ')
    .replace(/[\\"]/g, '\\$&')
    .replace(/[^\u0020-\u007e]/g, '?');
