// Parser of the Corefile syntax: blocks of directives, which have arguments and may have blocks of their own.
import { UsageError } from '../errors.ts';

/** The first word of a line, its arguments, and the directives in its braces. */
export interface Directive {
  readonly line: number;
  readonly name: string;
  readonly args: readonly string[];
  readonly block: readonly Directive[];
}

/** A server block: its zones and their directives. */
export interface ServerBlock {
  readonly line: number;
  /** As written: `.:53`, `dns://example.org`. */
  readonly zones: readonly string[];
  readonly directives: readonly Directive[];
}

interface Token {
  readonly text: string;
  readonly line: number;
  readonly isQuoted: boolean;
}

/** Deeper nesting than any real directive has. */
const maxDepth = 8;

/** Parses a Corefile and expands imported snippets. Throws `UsageError` with the line. */
export function readBlocks(text: string): readonly ServerBlock[] {
  const parser = new Parser(tokens(text));
  const snippets = new Map<string, readonly Directive[]>();
  const blocks: ServerBlock[] = [];
  while (!parser.isAtEnd) {
    const { line, words } = parser.words();
    const zones = words.map((word) => word.replace(/,$/, ''));
    const directives = parser.block(0) ?? parser.fail(line, 'expected "{" after the zones of a server');
    const snippet = /^\((.+)\)$/.exec(zones[0] ?? '')?.[1];
    if (snippet === undefined) blocks.push({ line, zones, directives });
    else snippets.set(snippet, directives);
  }
  return blocks.map((block) => ({ ...block, directives: imported(block.directives, snippets, 0) }));
}

function imported(
  directives: readonly Directive[],
  snippets: ReadonlyMap<string, readonly Directive[]>,
  depth: number,
): readonly Directive[] {
  return directives.flatMap((directive) => {
    const snippet = directive.name === 'import' ? snippets.get(directive.args[0] ?? '') : undefined;
    if (snippet === undefined) return [directive];
    if (depth >= maxDepth) throw new UsageError(`line ${directive.line}: snippets import each other`);
    return imported(snippet, snippets, depth + 1);
  });
}

/** Words and braces, without comments. A brace is a token of its own only if it stands alone. */
function tokens(text: string): readonly Token[] {
  const found: Token[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const pattern = /"((?:[^"\\]|\\.)*)"|(#.*)|([^\s"]\S*)|(")/g;
    for (const [, quoted, comment, word, stray] of line.matchAll(pattern)) {
      if (comment !== undefined) break;
      if (stray !== undefined) throw new UsageError(`line ${index + 1}: unterminated quote`);
      found.push({ text: quoted ?? word ?? '', line: index + 1, isQuoted: quoted !== undefined });
    }
  }
  return found;
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(all: readonly Token[]) {
    this.#tokens = all;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  fail(line: number, problem: string): never {
    throw new UsageError(`line ${line}: ${problem}`);
  }

  /** Words up to a brace or the end of the line; a trailing comma continues a list of zones on the next line. */
  words(): { readonly line: number; readonly words: readonly string[] } {
    const line = this.#tokens[this.#at]?.line ?? 0;
    const words: string[] = [];
    let last = line;
    for (let token = this.#peek(); token !== undefined && !isBrace(token); token = this.#peek()) {
      if (token.line !== last && words.at(-1)?.endsWith(',') !== true) break;
      last = token.line;
      words.push(token.text);
      this.#at += 1;
    }
    if (words.length === 0) return this.fail(line, `unexpected "${this.#peek()?.text ?? ''}"`);
    return { line, words };
  }

  /** The directives in the braces that open here; undefined: there is no brace. */
  block(depth: number): readonly Directive[] | undefined {
    const open = this.#peek();
    if (open === undefined || !isBrace(open) || open.text !== '{') return undefined;
    if (depth > maxDepth) return this.fail(open.line, 'braces are nested too deeply');
    this.#at += 1;
    const directives: Directive[] = [];
    for (let token = this.#peek(); token !== undefined; token = this.#peek()) {
      if (isBrace(token) && token.text === '}') {
        this.#at += 1;
        return directives;
      }
      const { line, words } = this.words();
      const [name = '', ...args] = words;
      directives.push({ line, name, args, block: this.block(depth + 1) ?? [] });
    }
    return this.fail(open.line, '"{" is not closed');
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#at];
  }
}

const isBrace = ({ text, isQuoted }: Token): boolean => !isQuoted && (text === '{' || text === '}');
