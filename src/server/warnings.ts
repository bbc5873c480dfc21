/** Past this many characters in all, each text is cut short, and texts past it are left out. */
const maxTotal = 4096;
const maxEach = 256;

/** The values of the `Warning` header, one a text, each text once. */
export function warningHeaders(texts: readonly string[]): readonly string[] {
  const distinct = [...new Set(texts)];
  const isCut = distinct.reduce((sum, text) => sum + text.length, 0) > maxTotal;
  const headers: string[] = [];
  let total = 0;
  for (const text of distinct) {
    if (total >= maxTotal) break;
    const shown = isCut ? text.slice(0, maxEach) : text;
    total += shown.length;
    headers.push(`299 - "${escaped(shown)}"`);
  }
  return headers;
}

/** Quotes and backslashes are escaped; what a header cannot carry becomes a question mark. */
const escaped = (text: string): string => text.replace(/[^ -~]/g, '?').replace(/[\\"]/g, '\\$&');
