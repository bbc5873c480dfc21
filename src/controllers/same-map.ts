/** Whether two maps of labels or annotations are equal; none is the same as an empty one. */
export function sameMap(
  left: Readonly<Record<string, string>> = {},
  right: Readonly<Record<string, string>> = {},
): boolean {
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => left[key] === right[key]);
}
