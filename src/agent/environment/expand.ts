/**
 * Replaces `$(NAME)` by variables, as Kubernetes does: `$$` is `$`, so that `$$(NAME)` stays `$(NAME)`; unknown names and
 * unclosed parentheses stay as they are; values are not expanded again.
 */
export function expand(text: string, valueOf: (name: string) => string | undefined): string {
  const lastClosing = text.lastIndexOf(')');
  const parts: string[] = [];
  let done = 0;
  for (let at = text.indexOf('$'); at >= 0; at = text.indexOf('$', done)) {
    parts.push(text.slice(done, at));
    const next = text[at + 1];
    const end = next === '(' && at < lastClosing ? text.indexOf(')', at) : -1;
    const value = end < 0 ? undefined : valueOf(text.slice(at + 2, end));
    parts.push(end < 0 ? '$' : (value ?? text.slice(at, end + 1)));
    done = next === '$' ? at + 2 : end < 0 ? at + 1 : end + 1;
  }
  return parts.join('') + text.slice(done);
}
