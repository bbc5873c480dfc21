// Stories: Markdown in which every heading is a test and every console block has commands and their expected output.
//
//   $ kubectl get svc web          a command; NAME=value before it sets its environment, <<EOF gives it input, in which
//                                  a shell replaces $NAME and $(command), and <<'EOF' input as it is
//   $ kubectl get svc \            a line that ends with a backslash continues on the next one
//   $… kubectl get svc web         the same, repeated for a while until its output matches
//   NAME   TYPE        …           the output; … matches any text, and alone on a line any lines
//   ! Warning: …                   standard error
//   [1]                            the exit code, if not 0

import type { Result } from './command.ts';

/** One command of a story and its expected result. */
export interface Step {
  readonly text: string;
  readonly env: Readonly<Record<string, string>>;
  readonly words: readonly string[];
  readonly input: string;
  /** Whether a shell passes the input on as it is. */
  readonly isLiteral: boolean;
  readonly expected: string;
  /** The result is expected soon, not at once. */
  readonly isEventual: boolean;
}

/** One test: a heading and the commands under it. */
export interface Story {
  readonly name: string;
  /** The oldest kubectl with this output. */
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

/** The command that the stories of a file run against, from its introduction: ``Runs with `fairlead up`.`` */
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
    const [, wait, typed = '', quote, ending] = /^\$(…?) (.*?)(?: <<('?)(\w+)\3)?$/.exec(line) ?? [];
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
      isLiteral: quote !== '',
      expected: tidy(expected.join('\n')),
      isEventual: wait === '…',
    });
  }
  return steps;
}

/** Splits a command as a shell does, with quotes but without expansion. */
export function parseWords(command: string): readonly string[] {
  const words = command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g);
  return Array.from(words, ([word]) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'));
}

/** The result of a command in the format of a story. */
export function printResult({ out, err, code }: Result): string {
  const errors = err.split('\n').flatMap((line) => (line.trim() === '' ? [] : [`! ${line}`]));
  return tidy([out, ...errors, ...(code === 0 ? [] : [`[${code}]`])].join('\n'));
}

/** Column widths depend on ages and addresses: a run of spaces within a line counts as two, and empty lines are ignored. */
export const tidy = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trimEnd().replaceAll(/(?<=\S)[ \t]{2,}/g, '  '))
    .filter((line) => line !== '')
    .join('\n');

/** The text with its wildcards replaced by the output as far as it matches; equal to the output if all of it matches. */
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
