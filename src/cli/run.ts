import { codeOf, messageOf } from '../api/error-message.ts';
import type { Action, Command } from './command.ts';
import { commands } from './commands.ts';
import { UsageError } from './errors.ts';
import { actionHelp, commandHelp, flagsOf, rootHelp } from './help.ts';
import type { ParsedArguments } from './options/arguments.ts';
import { checkChoices, parseArguments, UnknownFlagError } from './options/arguments.ts';
import type { Flag, Settings } from './options/flags.ts';
import { textOf } from './options/flags.ts';
import { closest } from './options/suggestions.ts';
import type { Streams } from './output.ts';

const usageExit = 2;
const failureExit = 1;

const oneLine = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');

/** Runs the command line and returns the exit code: 0, 1 for a failure, 2 for a wrong flag, file or argument. */
export async function run(args: readonly string[], streams: Streams): Promise<number> {
  try {
    return await dispatch(args, streams);
  } catch (error) {
    streams.err(`fairlead: ${oneLine(messageOf(error))}\n`);
    return codeOf(error) === 'USAGE' ? usageExit : failureExit;
  }
}

async function dispatch([name = 'help', ...args]: readonly string[], streams: Streams): Promise<number> {
  switch (name) {
    case '-v':
    case '--version':
      return dispatch(['version', ...args], streams);
    case 'help':
    case '-h':
    case '--help':
      streams.out(await helpOf(args.filter((arg) => !arg.startsWith('-'))));
      return 0;
    case '__complete': {
      const { candidates } = await import('./completion/candidates.ts');
      streams.out((await candidates(args)).map((word) => `${word}\n`).join(''));
      return 0;
    }
    default:
  }
  if (name.startsWith('-')) throw new UsageError(`unknown flag ${name}: see \`fairlead --help\``);
  const command = await loadCommand(name);
  const { words, settings, isHelp } = await parse(name, command, args);
  if (isHelp) {
    streams.out(await helpOf([name, ...words.slice(0, command.actions === undefined ? 0 : 1)]));
    return 0;
  }
  const selected = selectAction(name, command, words);
  checkFlags(name, command, { ...selected, settings });
  return execute({ ...selected, settings, streams });
}

/** The selected command or action, with its arguments. */
interface Selected {
  /** `dns query` */
  readonly path: string;
  readonly action: Omit<Action, 'summary'>;
  readonly args: readonly string[];
}

async function execute({
  path,
  action,
  args,
  settings: given,
  streams,
}: Selected & { readonly settings: Settings; readonly streams: Streams }): Promise<number> {
  checkArity(path, action.usage ?? '', args);
  const configFile = action.config === undefined ? undefined : textOf(given, 'config');
  const reread = (text?: string): Promise<Settings> => withConfigFile(action, given, { path: configFile, text });
  return action.run({ args, settings: await reread(), streams, configFile, reread });
}

/** The flags that were given, over those of the configuration file; `text` is the file's content if it was read already. */
async function withConfigFile(
  { flags, config }: Pick<Action, 'flags' | 'config'>,
  given: Settings,
  { path, text }: { readonly path: string | undefined; readonly text: string | undefined },
): Promise<Settings> {
  const settings = new Map<string, readonly string[]>();
  if (config !== undefined && path !== undefined) {
    const { readConfigFile } = await import('./options/config-file.ts');
    const file = await readConfigFile(path, config.flags, { sections: await config.sections?.(), text });
    for (const [name, values] of file) settings.set(name, values);
  }
  for (const [name, values] of given) if (name !== 'config' || config === undefined) settings.set(name, values);
  checkChoices(settings, config === undefined ? flags : [...flags, ...config.flags]);
  return settings;
}

async function loadCommand(name: string): Promise<Command> {
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry !== undefined) return entry.load();
  const meant = closest(name, Object.keys(commands)) ?? (await closestAction(name));
  const hint = meant === undefined ? 'see `fairlead --help`' : `did you mean \`fairlead ${meant}\`?`;
  throw new UsageError(`unknown command ${JSON.stringify(name)}: ${hint}`);
}

/** The action with a similar name, with its command: `mcs status`. */
async function closestAction(word: string): Promise<string | undefined> {
  const actions = new Map<string, string>();
  for (const [name, { load }] of Object.entries(commands)) {
    for (const action of Object.keys((await load()).actions ?? {})) actions.set(action, `${name} ${action}`);
  }
  return actions.get(closest(word, [...actions.keys()]) ?? '');
}

/** The flags of a command and of all its actions: one can stand before the name of its action. */
export const allFlags = (command: Command): readonly Flag[] => [
  ...(command.run === undefined ? [] : flagsOf(command)),
  ...Object.values(command.actions ?? {}).flatMap(flagsOf),
];

async function parse(name: string, command: Command, args: readonly string[]): Promise<ParsedArguments> {
  try {
    return parseArguments(args, allFlags(command));
  } catch (error) {
    if (!(error instanceof UnknownFlagError)) throw error;
    for (const [section, flags] of (await command.config?.sections?.()) ?? []) {
      if (!flags.some((flag) => `--${flag.name}` === error.flag)) continue;
      throw new UsageError(
        `unknown flag ${error.flag}: it is a flag of \`fairlead ${section}\`; \`fairlead ${name}\` reads it under ` +
          `"${section}:" in the file of --config`,
        { cause: error },
      );
    }
    if (error.suggestion !== undefined) throw error;
    throw new UsageError(`${error.message}: see \`fairlead help ${name}\``, { cause: error });
  }
}

function selectAction(name: string, command: Command, words: readonly string[]): Selected {
  const { actions = {}, run: own } = command;
  const [first, ...rest] = words;
  const action = first !== undefined && Object.hasOwn(actions, first) ? actions[first] : undefined;
  if (action !== undefined) return { path: `${name} ${first}`, action, args: rest };
  const names = Object.keys(actions);
  const problem = first === undefined ? 'missing action' : `unknown action ${JSON.stringify(first)}`;
  if (own === undefined || (first !== undefined && names.length > 0 && command.usage === undefined)) {
    const meant = closest(first ?? '', names);
    const hint = meant === undefined ? `see \`fairlead help ${name}\`` : `did you mean \`fairlead ${name} ${meant}\`?`;
    throw new UsageError(`${problem} of ${name}: expected ${names.join(', ')}: ${hint}`);
  }
  return { path: name, action: { ...command, run: own }, args: words };
}

/** Throws for a flag of another action of the command. */
function checkFlags(
  name: string,
  { actions = {} }: Command,
  { path, action, settings }: Selected & { readonly settings: Settings },
): void {
  const has = (each: Pick<Action, 'flags' | 'config'>, flag: string): boolean =>
    flagsOf(each).some((own) => own.name === flag);
  const stray = [...settings.keys()].find((flag) => !has(action, flag));
  if (stray === undefined) return;
  const owner = Object.keys(actions).find((each) => actions[each] !== undefined && has(actions[each], stray));
  const owned = owner === undefined ? `fairlead ${name}` : `fairlead ${name} ${owner}`;
  throw new UsageError(`--${stray} is a flag of \`${owned}\`, not of \`fairlead ${path}\``);
}

/** Every word of a usage such as `NAME [TYPE]` is one argument; `[FLAG...]` is any number of them. */
function checkArity(path: string, usage: string, args: readonly string[]): void {
  const forms = usage.split(' ').filter((form) => form !== '');
  const missing = forms.find((form, index) => !form.startsWith('[') && args[index] === undefined);
  const surplus = forms.some((form) => form.endsWith('...]')) ? undefined : args[forms.length];
  if (missing === undefined && surplus === undefined) return;
  const problem = missing === undefined ? `unexpected argument ${JSON.stringify(surplus)}` : `missing ${missing}`;
  throw new UsageError(`${problem}: expected \`${['fairlead', path, ...forms].join(' ')}\``);
}

/** The help of what `words` name: nothing, a command, or a command and an action. */
async function helpOf([name, ...words]: readonly string[]): Promise<string> {
  if (name === undefined) return rootHelp(commands);
  const command = await loadCommand(name);
  if (words.length === 0) return commandHelp(name, command, commands[name]?.summary ?? '');
  const [action = ''] = words;
  const known = command.actions ?? {};
  if (words.length > 1 || !Object.hasOwn(known, action) || known[action] === undefined) {
    throw new UsageError(`\`fairlead ${name}\` has no action "${words.join(' ')}": see \`fairlead help ${name}\``);
  }
  return actionHelp(`${name} ${action}`, known[action]);
}
