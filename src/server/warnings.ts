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

/** Quotes and backslashes are escaped; what a header cannot carry becomes a question mark. */
const escaped = (text: string): string => text.replace(/[^ -~]/g, '?').replace(/[\\"]/g, '\\$&');
