/** The text without any of these characters at its end. An expression such as `/-+$/` takes quadratic time. */
export function trimEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}
