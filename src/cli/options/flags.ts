import { messageOf } from '../../api/error-message.ts';
import { UsageError } from '../errors.ts';

/** A flag of a command. The file of `--config` sets it under the same name. */
export interface Flag {
  /** Without the dashes: `data-dir`. */
  readonly name: string;
  /** One letter: `-o`. */
  readonly short?: string;
  /** The placeholder of the value in help: `DIR`. */
  readonly value: string;
  /** One phrase for the help, without the default and the choices. */
  readonly description: string;
  /** The value of a flag given without one; a flag that has no such value requires one. */
  readonly bare?: string;
  /** May be given several times; a list in a file. */
  readonly repeatable?: true;
  /** Printed in help; applied where the settings are read. */
  readonly default?: string;
  /** All values there are: printed in help, completed by shells, and checked. */
  readonly choices?: readonly string[];
  /** The heading in help; left out: `Flags`. */
  readonly group?: string;
}

/** A flag that is true or false, and true without a value. */
export const booleanFlag = { value: 'true|false', bare: 'true', default: 'false' } as const;

/** `-o` of commands that print something. */
export const outputFlag: Flag = {
  name: 'output',
  short: 'o',
  value: 'FORMAT',
  description: 'output format for programs',
  choices: ['json', 'yaml'],
};

/** The flags under a heading of their own in help. */
export const grouped = (group: string, flags: readonly Flag[]): readonly Flag[] =>
  flags.map((flag) => ({ ...flag, group }));

/** Flag name → its values: one, unless the flag is repeatable. Flags that were not given are absent. */
export type Settings = ReadonlyMap<string, readonly string[]>;

/** The settings of one section of a configuration file, by the names they have inside it. */
export function sectionOf(settings: Settings, section: string): Settings {
  const start = `${section}.`;
  const own = [...settings].filter(([name]) => name.startsWith(start));
  return new Map(own.map(([name, values]) => [name.slice(start.length), values]));
}

/** The last value of a flag as text. */
export const textOf = (settings: Settings, name: string): string | undefined => settings.get(name)?.at(-1);

/** The value of a flag, read by `parse`; `fallback` when it was not given. Errors name the flag and the value. */
export function readFlag<T>(settings: Settings, name: string, parse: (text: string) => T, fallback: T): T {
  const text = textOf(settings, name);
  return text === undefined ? fallback : flagError(name, text, () => parse(text));
}

/** The values of a repeatable flag, each read by `parse`. */
export const readFlags = <T>(settings: Settings, name: string, parse: (text: string) => T): readonly T[] =>
  (settings.get(name) ?? []).map((text) => flagError(name, text, () => parse(text)));

/** Runs `parse`; an error names the flag and its value, in the words of Kubernetes' programs. */
export function flagError<T>(name: string, text: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError(`invalid argument ${JSON.stringify(text)} for "--${name}" flag: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
