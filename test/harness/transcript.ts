// Stories: Markdown in which every heading is a test, and every console block what is typed and what must be printed.
//
//   $ kubectl get svc web          a command; NAME=value before it sets its environment, <<EOF gives it input
//   $ kubectl get svc \            a line that ends with a backslash goes on in the next one
//   $… kubectl get svc web         the same, typed again until it prints what it must, for a while
//   NAME   TYPE        …           what it prints; … stands for any text, and alone on a line for any lines
//   ! Warning: …                   what it prints to stderr
//   [1]                            how it ends, if not with 0

import type { Result } from './command.ts';

/** One command of a story and what it must do. */
export interface Step {
  readonly text: string;
  readonly env: Readonly<Record<string, string>>;
  readonly words: readonly string[];
  readonly input: string;
  readonly expected: string;
  /** What it must do is true soon, not at once. */
  readonly isEventual: boolean;
}

/** One test: a heading and the commands under it. */
export interface Story {
  readonly name: string;
  /** The oldest kubectl that prints this. */
  readonly since: string;
  readonly steps: readonly Step[];
}

/** Reads the stories of a Markdown file. */
export function parseStories(markdown: string): readonly Story[] {
  return markdown
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [name = ''] = section.split('\n', 1);
      const blocks = Array.from(section.matchAll(/^```console(?: since=(\S+))?\n(.*?)^```$/gms));
      const since = blocks.map(([, version = '']) => version).find((version) => version !== '') ?? '';
      return { name: name.trim(), since, steps: blocks.flatMap(([, , block = '']) => parseSteps(block)) };
    });
}

/** The command that the stories of a file run at, as its beginning says: ``Runs with `fairlead up`.`` */
export function parseCommand(markdown: string): readonly string[] {
  const [, command = 'server'] = /^Runs with `fairlead (.+?)`/m.exec(markdown.split(/^## /m, 1)[0] ?? '') ?? [];
  return parseWords(command);
}

function parseSteps(block: string): Step[] {
  const steps: Step[] = [];
  const lines = block.split('\n');
  for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
    if (line.trim() === '') continue;
    while (line.endsWith('\\')) line = `${line.slice(0, -1).trimEnd()} ${(lines.shift() ?? '').trim()}`;
    const [, wait, typed = '', ending] = /^\$(…?) (.*?)(?: <<'?(\w+)'?)?$/.exec(line) ?? [];
    if (wait === undefined) throw new Error(`a command starts with "$ " or "$… ", not: ${line}`);
    const input = ending === undefined ? [] : lines.splice(0, lines.indexOf(ending));
    if (ending !== undefined) lines.shift();
    const next = lines.findIndex((candidate) => /^\$…? /.test(candidate));
    const expected = lines.splice(0, next === -1 ? lines.length : next);
    const words = parseWords(typed);
    const start = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
    const env = Object.fromEntries(words.slice(0, start).map((word) => /^([^=]+)=(.*)$/s.exec(word)?.slice(1) ?? []));
    const text = input.length === 0 ? '' : `${input.join('\n')}\n`;
    steps.push({
      text: typed,
      env,
      words: words.slice(start),
      input: text,
      expected: tidy(expected.join('\n')),
      isEventual: wait === '…',
    });
  }
  return steps;
}

/** Splits a command as a shell does, with quotes but without anything that a shell would replace. */
export function parseWords(command: string): readonly string[] {
  const words = command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g);
  return Array.from(words, ([word]) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'));
}

/** What a command did, written as a story writes it. */
export function printResult({ out, err, code }: Result): string {
  const errors = err.split('\n').flatMap((line) => (line.trim() === '' ? [] : [`! ${line}`]));
  return tidy([out, ...errors, ...(code === 0 ? [] : [`[${code}]`])].join('\n'));
}

/** The width of columns depends on ages and addresses: runs of spaces in a line are two, and empty lines do not count. */
export const tidy = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trimEnd().replaceAll(/(?<=\S)[ \t]{2,}/g, '  '))
    .filter((line) => line !== '')
    .join('\n');

/** The text with its wildcards filled from what was printed, as far as it fits; equal to it exactly if all fits. */
export function fill(expected: string, printed: string): string {
  const lines = expected.split('\n');
  if (pattern(lines).test(`${printed}\n`)) return printed;
  const rest = printed.split('\n');
  const filled = lines.map((line) => {
    const index = rest.findIndex((candidate) => line !== '…' && pattern([line]).test(`${candidate}\n`));
    return index === -1 ? line : (rest.splice(0, index + 1).at(-1) ?? line);
  });
  return filled.join('\n');
}

function pattern(lines: readonly string[]): RegExp {
  const sources = lines.map((line) =>
    line === '…' ? String.raw`(?:.*\n)*?` : `${RegExp.escape(line).replaceAll('…', '.*')}\n`,
  );
  return new RegExp(`^${sources.join('')}$`);
}
