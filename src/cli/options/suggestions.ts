/** The candidate that is most similar to a misspelt word; undefined: none is similar. */
export function closest(word: string, candidates: readonly string[]): string | undefined {
  const limit = word.replace(/^-+/, '').length < 4 ? 1 : 2;
  const near = candidates
    .map((candidate) => ({ candidate, distance: distanceOf(word, candidate) }))
    .filter(({ distance }) => distance <= limit)
    .toSorted((left, right) => left.distance - right.distance)[0]?.candidate;
  return near ?? candidates.find((candidate) => word.length > 3 && candidate.startsWith(word));
}

/** The edit distance: insertions, deletions, substitutions and swaps of neighbours that lead from one word to the other. */
function distanceOf(from: string, to: string): number {
  let rowBefore: readonly number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of Array.from(from).entries()) {
    const next = [index + 1];
    for (let at = 1; at <= to.length; at++) {
      const substituted = (row[at - 1] ?? 0) + (letter === to[at - 1] ? 0 : 1);
      const isSwap = at > 1 && letter === to[at - 2] && from[index - 1] === to[at - 1];
      const swapped = isSwap ? (rowBefore[at - 2] ?? 0) + 1 : Infinity;
      next.push(Math.min(substituted, swapped, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1));
    }
    [rowBefore, row] = [row, next];
  }
  return row.at(-1) ?? 0;
}
