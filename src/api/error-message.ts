// Imports nothing, so that worker threads load nothing else with it.

/** The message of a thrown value. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** The code of a thrown system error, such as `ENOENT`; '' without one. */
export const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';

/** The reason of a failed file operation; the caller names the file, which Node's message repeats with its own call. */
export function fileErrorOf(thrown: unknown): string {
  const [code, message] = [codeOf(thrown), messageOf(thrown)];
  if (code === 'EISDIR') return 'it is a directory';
  return code !== '' && message.startsWith(`${code}: `)
    ? (message.slice(code.length + 2).split(',', 1)[0] ?? '')
    : message;
}
