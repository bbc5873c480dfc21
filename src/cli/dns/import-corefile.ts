import { readFile } from 'node:fs/promises';
import { fileErrorOf } from '../../api/error-message.ts';
import { UsageError } from '../errors.ts';
import type { Settings } from '../options/flags.ts';
import type { PartAction } from '../part/part.ts';
import { readCorefile } from './corefile.ts';
import { dnsFlags } from './flags.ts';

/** `fairlead dns import-corefile FILE`: a configuration of CoreDNS as a file for `--config`. */
export const importCorefile: PartAction['run'] = async ({ args: [path = ''], streams }) => {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${fileErrorOf(error)}`, { cause: error });
  }
  try {
    const { settings, notes } = readCorefile(text);
    for (const note of notes) streams.err(`${path}:${note.line}: ${note.text}\n`);
    streams.out(printConfig(settings, [`Made from ${path}.`]));
    return 0;
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`${path}: ${error.message}`, { cause: error }) : error;
  }
};

/** A default in words is not a value. */
const isText = (fallback: string): boolean => fallback.includes(' ');

/** The options as a YAML file: every key with its description; keys that were not set are commented out. */
export function printConfig(settings: Settings, heading: readonly string[] = []): string {
  const lines = heading.map((line) => `# ${line}`.trimEnd());
  for (const { name, value, description, choices, repeatable, default: fallback = '' } of dnsFlags) {
    const values = settings.get(name);
    const notes = [
      ...(choices === undefined ? [] : [choices.join(', ')]),
      ...(isText(fallback) ? [`default ${fallback}`] : []),
    ];
    lines.push('', `# ${description}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}`);
    if (values === undefined) lines.push(`# ${name}: ${fallback === '' || isText(fallback) ? value : fallback}`);
    else if (repeatable === true) lines.push(`${name}:`, ...values.map((each) => `  - ${quoted(each)}`));
    else lines.push(`${name}: ${quoted(values.at(-1) ?? '')}`);
  }
  return `${lines.join('\n').trimStart()}\n`;
}

/** A YAML scalar: JSON is valid YAML, and most words and numbers need no quotes. */
const quoted = (text: string): string =>
  /^[A-Za-z0-9][A-Za-z0-9./-]*$/.test(text) && !/^null$/i.test(text) ? text : JSON.stringify(text);
