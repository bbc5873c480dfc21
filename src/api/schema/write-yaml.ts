import { dump } from 'js-yaml';

/** A JSON value as YAML in the style of Kubernetes: keys sorted, lists not indented, double quotes. */
export const toYaml = (value: unknown): string => [...yamlPieces(value, Infinity)].join('');

/** An object or list of which some entries are written. */
interface Block {
  readonly value: Readonly<Record<string, unknown>>;
  /** Undefined: a list. */
  readonly keys: readonly string[] | undefined;
  readonly length: number;
  at: number;
  /** What stands before the next entry: of the first one perhaps a dash. */
  lead: string;
  /** What stands before all others. */
  readonly indent: string;
}

/** The same in pieces of `size` characters and one scalar more, so that a large value is written in slices. */
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
        const inner = Array.isArray(entry) ? indent : `${indent}  `; // a list is as far in as its key
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

/** Whether the value takes lines of its own. */
function isBlock(value: unknown): value is Block['value'] {
  if (typeof value !== 'object' || value === null) return false;
  for (const _ in value) return true;
  return false;
}

function blockOf(value: Block['value'], lead: string, indent: string): Block {
  const keys = Array.isArray(value) ? undefined : Object.keys(value).sort();
  return { value, keys, length: keys?.length ?? Number(value['length']), at: 0, lead, indent };
}

/** Most of the strings in Kubernetes' objects. All others are left to `dump`, which is slower. */
const plain = /^[A-Za-z](?:[!-9;-~]|:(?=[!-~]))*$|^\d+\.\d+\.\d+\.\d+$|^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$|^\.$/;
const reserved = /^(?:y|n|yes|no|on|off|true|false|null)$/i;
const quoted = /^\d+$|^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

function quick(text: string): string | undefined {
  if (text.length > 256) return undefined;
  if (plain.test(text)) return reserved.test(text) ? `"${text}"` : text;
  return quoted.test(text) ? `"${text}"` : undefined;
}

/** A key; `? key` if it is so long, or has so many lines, that its value has to stand in a line of its own. */
const keyText = (key: string): string =>
  quick(key) ??
  dumped({ [key]: 0 })
    .slice(0, -': 0\n'.length)
    .trimEnd();

/** A scalar, or an empty object or list; the lines of a long text are further in than `indent`. */
function scalar(value: unknown, indent: string): string {
  const known = typeof value === 'string' ? quick(value) : undefined;
  if (known !== undefined) return known;
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return String(value);
  if (typeof value === 'object') return value === null ? 'null' : Array.isArray(value) ? '[]' : '{}';
  if (typeof value === 'string' && isLines(value)) return literal(value, `${indent}  `);
  const text = dumped({ k: value }).slice('k: '.length, -1);
  if (!text.startsWith('|')) return text;
  // `dump` marks the end of a document after a text with empty lines at its end; here the document goes on.
  const lines = text.endsWith('\n...') ? text.slice(0, -'...'.length - 1) : text;
  return indent === '' ? lines : lines.replaceAll(/\n(?=[^\n])/g, `\n${indent}`);
}

/** Several lines of ASCII, which may be large: `dump` would look at every character several times. */
const isLines = (text: string): boolean => text.includes('\n') && /[^\n ]/.test(text) && !/[^\n\x20-\x7e]/.test(text);

function literal(text: string, indent: string): string {
  const indicator = /^\n* /.test(text) ? '2' : '';
  const chomping = !text.endsWith('\n') ? '-' : text.endsWith('\n\n') ? '+' : '';
  const lines = text.replaceAll(/^(?=.)/gm, indent);
  return `|${indicator}${chomping}\n${text.endsWith('\n') ? lines.slice(0, -1) : lines}`;
}

const dumped = (value: unknown): string =>
  dump(value, { noRefs: true, lineWidth: -1, sortKeys: true, seqNoIndent: true, quoteStyle: 'double' });
