import { UsageError } from '../errors.ts';
import type { Flag, Settings } from './flags.ts';
import { flagError } from './flags.ts';
import { closest } from './suggestions.ts';
import { oneOf } from './values.ts';

/** A command line, split into its words and its flags. */
export interface ParsedArguments {
  /** Everything that is not a flag or its value. */
  readonly words: readonly string[];
  readonly settings: Settings;
  readonly isHelp: boolean;
}

/** Splits a command line as Kubernetes' programs do. Throws a UsageError for a flag that is unknown or lacks its value. */
export function parseArguments(args: readonly string[], flags: readonly Flag[]): ParsedArguments {
  const words: string[] = [];
  const settings = new Map<string, readonly string[]>();
  let isHelp = false;
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? '';
    if (arg === '--') {
      words.push(...args.slice(index + 1));
      break;
    }
    if (arg === '--help' || arg === '-h') {
      isHelp = true;
      continue;
    }
    if (!arg.startsWith('-') || arg === '-') {
      words.push(arg);
      continue;
    }
    const { flag, value } = flagAt(arg, flags);
    const next = args[index + 1];
    const isNextTaken = value === undefined && (flag.bare === undefined || next === 'true' || next === 'false');
    const text = value ?? (isNextTaken ? next : flag.bare);
    if (text === undefined) throw new UsageError(`flag needs an argument: --${flag.name} ${flag.value}`);
    if (isNextTaken) index++;
    // A flag given twice keeps its last value, as kubectl's do, unless it is a list.
    settings.set(flag.name, flag.repeatable ? [...(settings.get(flag.name) ?? []), text] : [text]);
  }
  return { words, settings, isHelp };
}

/** The flag of `--name`, `--name=value`, `-n`, `-nvalue` or `-n=value`, and the value. */
function flagAt(arg: string, flags: readonly Flag[]): { readonly flag: Flag; readonly value: string | undefined } {
  const isLong = arg.startsWith('--');
  const at = isLong ? arg.indexOf('=') : arg.length > 2 ? 2 : -1;
  const given = at === -1 ? arg : arg.slice(0, at);
  const flag = flags.find(({ name, short }) => (isLong ? given === `--${name}` : given === `-${short}`));
  if (flag === undefined) throw new UnknownFlagError(given, flags);
  const value = at === -1 ? undefined : arg.slice(at);
  return { flag, value: isLong || value?.startsWith('=') === true ? value?.slice(1) : value };
}

/** A flag that the command does not have. */
export class UnknownFlagError extends UsageError {
  /** With its dashes. */
  readonly flag: string;
  readonly suggestion: string | undefined;

  constructor(flag: string, flags: readonly Flag[]) {
    const suggestion = closest(
      flag,
      flags.map(({ name }) => `--${name}`),
    );
    super(`unknown flag ${flag}${suggestion === undefined ? '' : `: did you mean ${suggestion}?`}`);
    this.flag = flag;
    this.suggestion = suggestion;
  }
}

/** Throws a UsageError for a value that is not one of the choices of its flag. */
export function checkChoices(settings: Settings, flags: readonly Flag[]): void {
  for (const { name, choices } of flags) {
    if (choices === undefined) continue;
    for (const text of settings.get(name) ?? []) flagError(name, text, () => oneOf(choices)(text));
  }
}
