import { isJsonObject } from '../../api/schema/json-object.ts';
import { readFile } from 'node:fs/promises';
import { loadAll } from 'js-yaml';
import { fileErrorOf, messageOf } from '../../api/error-message.ts';
import { UsageError } from '../errors.ts';
import { yamlError } from './yaml-error.ts';
import type { Flag, Settings } from './flags.ts';
import { closest } from './suggestions.ts';

/** Keys that hold a mapping, such as `dns` → the flags that it may contain. */
export type Sections = ReadonlyMap<string, readonly Flag[]>;

const noSections: Sections = new Map();

export interface ReadConfigOptions {
  /** None by default. */
  readonly sections?: Sections | undefined;
  /** The content of the file, if it was read already. */
  readonly text?: string | undefined;
}

/** Reads a file of flags. Errors name the file and the key. */
export async function readConfigFile(
  path: string,
  flags: readonly Flag[],
  { sections, text }: ReadConfigOptions = {},
): Promise<Settings> {
  const content = text ?? (await readContent(path));
  try {
    return parseConfig(content, flags, sections);
  } catch (error) {
    throw yamlError(path, error);
  }
}

async function readContent(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read --config ${path}: ${fileErrorOf(error)}`, { cause: error });
  }
}

/** Settings from YAML text whose keys are flag names without dashes in front; those of a section are `section.key`. */
export function parseConfig(text: string, flags: readonly Flag[], sections: Sections = noSections): Settings {
  const [document, ...others] = loadAll(text);
  if (others.length > 0) throw new UsageError('expected one YAML document, found several');
  if (document === undefined || document === null) return new Map();
  if (!isJsonObject(document)) throw new UsageError('expected a mapping of flags to values');
  const settings = new Map<string, readonly string[]>();
  for (const [key, value] of Object.entries(document)) {
    if (value === null || value === undefined) checkKey(key, [...flags, ...sectionKeys(sections)]); // as if it were absent
    else if (sections.has(key) && (isJsonObject(value) || !flags.some(({ name }) => name === key)))
      addSection(settings, key, { value, flags: sections.get(key) ?? [] });
    else settings.set(key, valuesOf(checkKey(key, [...flags, ...sectionKeys(sections)]), value));
  }
  return settings;
}

const sectionKeys = (sections: Sections): readonly Flag[] =>
  Array.from(sections.keys(), (name) => ({ name, value: 'a mapping', description: '' }));

function addSection(
  settings: Map<string, readonly string[]>,
  section: string,
  { value, flags }: { readonly value: unknown; readonly flags: readonly Flag[] },
): void {
  if (!isJsonObject(value))
    throw new UsageError(`key "${section}": expected a mapping, found ${JSON.stringify(value)}`);
  try {
    for (const [key, each] of Object.entries(value)) {
      const flag = checkKey(key, flags);
      if (each !== null && each !== undefined) settings.set(`${section}.${key}`, valuesOf(flag, each));
    }
  } catch (error) {
    throw new UsageError(`in "${section}": ${messageOf(error)}`, { cause: error });
  }
}

function checkKey(key: string, flags: readonly Flag[]): Flag {
  const flag = flags.find(({ name }) => name === key);
  if (flag === undefined) throw new UsageError(unknownKey(key, flags));
  return flag;
}

function valuesOf(flag: Flag, value: unknown): readonly string[] {
  if (Array.isArray(value)) {
    const items = value.map((item) => textOf(flag, item));
    return flag.repeatable ? items : [items.join(',')];
  }
  if (isJsonObject(value)) {
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
  const close = closest(key, names);
  return `unknown key "${key}": ${close === undefined ? `expected one of ${names.join(', ')}` : `did you mean "${close}"?`}`;
}
