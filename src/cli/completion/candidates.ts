import type { Action, Command } from '../command.ts';
import { commands } from '../commands.ts';
import { flagsOf } from '../help.ts';
import type { Flag } from '../options/flags.ts';

/**
 * The completions of the last of `words`, which are those after `fairlead`. Empty where the shell completes file names.
 */
export async function candidates(words: readonly string[]): Promise<readonly string[]> {
  const last = words.at(-1) ?? '';
  return (await possible(words.slice(0, -1), last)).filter((word) => word.startsWith(last));
}

async function possible([name, ...words]: readonly string[], last: string): Promise<readonly string[]> {
  if (name === undefined) return last.startsWith('-') ? ['--help', '--version'] : Object.keys(commands);
  if (name === 'help') return helpWords(words);
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) return [];
  const command = await entry.load();
  const { actions = {} } = command;
  const actionName = words.find((word) => Object.hasOwn(actions, word));
  const action = actionName === undefined ? undefined : actions[actionName];
  const flags = flagsIn(command, action);
  const assigned = /^--([^=]+)=/.exec(last);
  if (assigned !== null) {
    const flag = flags.find((each) => each.name === assigned[1]);
    return valuesOf(flag).map((value) => `--${flag?.name}=${value}`);
  }
  const previous = words.at(-1) ?? '';
  const open = flags.find(
    ({ name: own, short, bare }) => bare === undefined && (previous === `--${own}` || previous === `-${short}`),
  );
  if (open !== undefined) return valuesOf(open);
  if (last.startsWith('-')) return [...flags.map((flag) => `--${flag.name}`), '--help'];
  if (action === undefined && Object.keys(actions).length > 0) return Object.keys(actions);
  // Words of a usage in small letters are choices: `export|unexport`, `bash|zsh|fish`.
  const operands = words
    .slice(actionName === undefined ? 0 : words.indexOf(actionName) + 1)
    .filter((word) => !word.startsWith('-'));
  const form = (action ?? command).usage?.split(' ')[operands.length] ?? '';
  return /^[a-z|]+$/.test(form) ? form.split('|') : [];
}

const valuesOf = (flag: Flag | undefined): readonly string[] =>
  flag?.choices ?? (flag?.bare === undefined ? [] : ['true', 'false']);

const flagsIn = (command: Command, action: Action | undefined): readonly Flag[] =>
  action !== undefined ? flagsOf(action) : command.run === undefined ? [] : flagsOf(command);

async function helpWords([name, ...rest]: readonly string[]): Promise<readonly string[]> {
  if (name === undefined) return Object.keys(commands);
  return rest.length > 0 || !Object.hasOwn(commands, name)
    ? []
    : Object.keys((await commands[name]?.load())?.actions ?? {});
}
