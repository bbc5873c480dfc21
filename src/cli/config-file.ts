import { readFile } from 'node:fs/promises';
import { loadAll } from 'js-yaml';
import { messageOf, UsageError } from './errors.ts';
import { yamlError } from './yaml-error.ts';
import type { Flag, Settings } from './settings.ts';

/** Reads a file of flags. Errors name the file and the key. */
export async function readConfigFile(path: string, flags: readonly Flag[]): Promise<Settings> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read --config ${path}: ${messageOf(error)}`, { cause: error });
  }
  try {
    return parseConfig(text, flags);
  } catch (error) {
    throw yamlError(path, error);
  }
}

/** Settings from YAML text whose keys are flag names without dashes in front. */
export function parseConfig(text: string, flags: readonly Flag[]): Settings {
  const [document, ...others] = loadAll(text);
  if (others.length > 0) throw new UsageError('expected one YAML document, found several');
  if (document === undefined || document === null) return new Map();
  if (!isMapping(document)) throw new UsageError('expected a mapping of flags to values');
  const settings = new Map<string, readonly string[]>();
  for (const [key, value] of Object.entries(document)) {
    const flag = flags.find(({ name }) => name === key);
    if (flag === undefined) throw new UsageError(unknownKey(key, flags));
    if (value !== null && value !== undefined) settings.set(key, valuesOf(flag, value));
  }
  return settings;
}

function valuesOf(flag: Flag, value: unknown): readonly string[] {
  if (Array.isArray(value)) {
    const items = value.map((item) => textOf(flag, item));
    return flag.repeatable ? items : [items.join(',')];
  }
  if (isMapping(value)) {
    const pairs = Object.entries(value).map(([name, item]) => `${name}=${textOf(flag, item)}`);
    return [pairs.join(',')];
  }
  return [textOf(flag, value)];
}

function textOf(flag: Flag, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new UsageError(`key "${flag.name}": expected ${flag.value}, found ${JSON.stringify(value)}`);
}

function unknownKey(key: string, flags: readonly Flag[]): string {
  const names = flags.map(({ name }) => name);
  const close = names.find((name) => name.startsWith(key) || key.startsWith(name) || name === key.replaceAll('_', '-'));
  return `unknown key "${key}": ${close === undefined ? `known are ${names.join(', ')}` : `did you mean "${close}"?`}`;
}

const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
