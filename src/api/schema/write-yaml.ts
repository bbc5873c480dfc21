import { dump } from 'js-yaml';

/** Writes a JSON value as YAML in the style of Kubernetes: keys sorted, lists not indented, double quotes. */
export const toYaml = (value: unknown): string => [...yamlPieces(value, Infinity)].join('');

/** An object or list that is being written. */
interface Block {
  readonly value: Readonly<Record<string, unknown>>;
  /** undefined for a list. */
  readonly keys: readonly string[] | undefined;
  readonly length: number;
  at: number;
  /** Written before the next entry: the first entry of an object inside a list follows a dash. */
  lead: string;
  /** Written before all other entries. */
  readonly indent: string;
}

/** As `toYaml`, in pieces of about `size` characters: a piece exceeds the size by at most one scalar. */
export function* yamlPieces(value: unknown, size: number): Generator<string, void> {
  if (!isBlock(value)) {
    yield dumped(value);
    return;
  }
  let out = '';
  const blocks = [blockOf(value, '', '')];
  for (let block = blocks.at(-1); block !== undefined; block = blocks.at(-1)) {
    if (block.at === block.length) {
      blocks.pop();
      continue;
    }
    const { keys, indent } = block;
    const key = keys?.[block.at];
    const entry = block.value[key ?? block.at];
    out += block.lead;
    block.lead = indent;
    block.at++;
    if (key === undefined) {
      if (isBlock(entry)) blocks.push(blockOf(entry, '- ', `${indent}  `));
      else out += `- ${scalar(entry, indent)}\n`;
    } else {
      const name = keyText(key);
      const isExplicit = name.startsWith('? ');
      out += isExplicit ? `${name}\n${indent}:` : `${name}:`;
      if (!isBlock(entry)) out += ` ${scalar(entry, indent)}\n`;
      else if (isExplicit) blocks.push(blockOf(entry, ' ', `${indent}  `));
      else {
        const inner = Array.isArray(entry) ? indent : `${indent}  `; // lists have the indentation of their key
        blocks.push(blockOf(entry, `\n${inner}`, inner));
      }
    }
    if (out.length >= size) {
      yield out;
      out = '';
    }
  }
  if (out !== '') yield out;
}

/** Whether the value is written on lines of its own. */
function isBlock(value: unknown): value is Block['value'] {
  if (typeof value !== 'object' || value === null) return false;
  for (const _ in value) return true;
  return false;
}

function blockOf(value: Block['value'], lead: string, indent: string): Block {
  const keys = Array.isArray(value) ? undefined : Object.keys(value).sort();
  return { value, keys, length: keys?.length ?? Number(value['length']), at: 0, lead, indent };
}

/** Matches most strings of Kubernetes objects. All others are written by `dump`, which is slower. */
const word = /^[A-Za-z](?::*[!-9;-~])*$/;
const plain = /^\d+\.\d+\.\d+\.\d+$|^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$|^\.$/;
const reserved = /^(?:y|n|yes|no|on|off|true|false|null)$/i;
const quoted = /^\d+$|^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

function quick(text: string): string | undefined {
  if (text.length > 256) return undefined;
  if (word.test(text) || plain.test(text)) return reserved.test(text) ? `"${text}"` : text;
  return quoted.test(text) ? `"${text}"` : undefined;
}

/** A key, or `? key` if it is too long or has several lines: its value is then written on a line of its own. */
const keyText = (key: string): string =>
  quick(key) ??
  dumped({ [key]: 0 })
    .slice(0, -': 0\n'.length)
    .trimEnd();

/** A scalar, or an empty object or list; lines of a block scalar are indented deeper than `indent`. */
function scalar(value: unknown, indent: string): string {
  const known = typeof value === 'string' ? quick(value) : undefined;
  if (known !== undefined) return known;
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return String(value);
  if (typeof value === 'object') return value === null ? 'null' : Array.isArray(value) ? '[]' : '{}';
  if (typeof value === 'string' && isLines(value)) return literal(value, `${indent}  `);
  const text = dumped({ k: value }).slice('k: '.length, -1);
  if (!text.startsWith('|')) return text;
  // `dump` writes an end-of-document marker after text that ends in empty lines; here the document continues.
  const lines = text.endsWith('\n...') ? text.slice(0, -'...'.length - 1) : text;
  return indent === '' ? lines : lines.replaceAll(/\n(?=[^\n])/g, `\n${indent}`);
}

/** Whether the text is multi-line ASCII, such as a large file: `dump` inspects every character several times. */
const isLines = (text: string): boolean => text.includes('\n') && /[^\n ]/.test(text) && !/[^\n\x20-\x7e]/.test(text);

function literal(text: string, indent: string): string {
  const indicator = /^\n* /.test(text) ? '2' : '';
  const chomping = !text.endsWith('\n') ? '-' : text.endsWith('\n\n') ? '+' : '';
  const lines = text.replaceAll(/^(?=.)/gm, indent);
  return `|${indicator}${chomping}\n${text.endsWith('\n') ? lines.slice(0, -1) : lines}`;
}

const dumped = (value: unknown): string =>
  dump(value, { noRefs: true, lineWidth: -1, sortKeys: true, seqNoIndent: true, quoteStyle: 'double' });
