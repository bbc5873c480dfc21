import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

/** Why a program cannot be executed, worded as by container runtimes; undefined: it can. */
export async function programProblem(program: string, path: string, cwd: string): Promise<string | undefined> {
  const isPath = program.includes('/');
  const candidates = isPath
    ? [isAbsolute(program) ? program : join(cwd, program)]
    : path.split(delimiter).map((folder) => join(folder === '' ? '.' : folder, program));
  let found: 'nothing' | 'noPermission' = 'nothing';
  for (const candidate of candidates) {
    const stats = await stat(candidate).catch(() => undefined);
    if (stats === undefined) continue;
    if (
      stats.isFile() &&
      (await access(candidate, constants.X_OK).then(
        () => true,
        () => false,
      ))
    )
      return undefined;
    found = 'noPermission';
  }
  const quoted = `exec: ${JSON.stringify(program)}`;
  if (found === 'noPermission') return `${quoted}: permission denied`;
  return isPath ? `${quoted}: no such file or directory` : `${quoted}: executable file not found in $PATH`;
}

let setpriv: Promise<boolean> | undefined;

/** Whether the machine has setpriv of util-linux. */
export function hasSetpriv(path = ''): Promise<boolean> {
  return (setpriv ??= programProblem('setpriv', path, '/').then((problem) => problem === undefined));
}
