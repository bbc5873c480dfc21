import type { Command } from 'commander';
import { Option } from 'commander';
import { messageOf } from '../../api/error-message.ts';
import { UsageError } from '../errors.ts';
import type { Sections } from './config-file.ts';
import type { Flag, Settings } from '../settings.ts';

/** Gives `command` the flags, and `--config` for a file with the same keys. */
export function addFlags(command: Command, flags: readonly Flag[]): void {
  for (const flag of flags) {
    const note = [flag.repeatable ? 'repeatable' : '', flag.default === undefined ? '' : `default ${flag.default}`]
      .filter((part) => part !== '')
      .join('; ');
    const text = note === '' ? flag.description : `${flag.description} (${note})`;
    const value = flag.bare === undefined ? `<${flag.value}>` : `[${flag.value}]`;
    const option = new Option(`--${flag.name} ${value}`, text);
    // A flag given twice keeps its last value, as kubectl's do, unless it is a list.
    option.argParser<readonly string[]>((value, before) => (flag.repeatable ? [...(before ?? []), value] : [value]));
    command.addOption(option);
  }
  command.option('--config <FILE>', 'YAML file with the flags as keys; flags given here win');
}

/**
 * Everything given on the command line, over what the file of `--config` gives, which may have `sections` besides; its
 * `text` where that was read already.
 */
export async function readSettings(
  command: Command,
  flags: readonly Flag[],
  { sections, text }: { readonly sections?: () => Promise<Sections>; readonly text?: string } = {},
): Promise<Settings> {
  const given = command.opts<Record<string, true | string | readonly string[] | undefined>>();
  const settings = new Map<string, readonly string[]>();
  if (typeof given['config'] === 'string') {
    const { readConfigFile } = await import('./config-file.ts');
    const file = await readConfigFile(given['config'], flags, { sections: await sections?.(), text });
    for (const [name, values] of file) settings.set(name, values);
  }
  for (const flag of flags) {
    const values = given[camelCase(flag.name)];
    if (values === true) settings.set(flag.name, [flag.bare ?? '']); // without a value
    else if (Array.isArray(values)) settings.set(flag.name, values);
  }
  return settings;
}

/** The settings of one section, by the names they have inside it. */
export function sectionOf(settings: Settings, section: string): Settings {
  const start = `${section}.`;
  const own = [...settings].filter(([name]) => name.startsWith(start));
  return new Map(own.map(([name, values]) => [name.slice(start.length), values]));
}

/** The value of a flag, read by `parse`; `fallback` when it was not given. Errors name the flag and the value. */
export function readFlag<T>(settings: Settings, name: string, parse: (text: string) => T, fallback: T): T {
  const text = settings.get(name)?.at(-1);
  return text === undefined ? fallback : flagError(name, text, () => parse(text));
}

/** Runs `parse`, and says in its error which flag had which value, in the words Kubernetes' programs use. */
export function flagError<T>(name: string, text: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError(`invalid argument ${JSON.stringify(text)} for "--${name}" flag: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** A parser for one of `words`. */
export const oneOf =
  <const Word extends string>(words: readonly Word[]) =>
  (text: string): Word => {
    const word = words.find((candidate) => candidate === text);
    if (word === undefined) throw new UsageError(`expected ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`);
    return word;
  };

const camelCase = (name: string): string => name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
