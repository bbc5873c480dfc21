import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname } from 'node:path';
import { before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import type { CallExpression, NewExpression } from 'acorn';
import { parse } from 'acorn';
import { simple } from 'acorn-walk';
import { transformSync } from 'esbuild';
import type { checkSync } from 'recheck';

// A regular expression that backtracks lets a short input hold up everything: each one in the source must be linear.

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const isTest = (path: string): boolean => /\.(test|bench)\.ts$|(^|\/)testing\//.test(path);

interface Found {
  readonly expressions: readonly { readonly pattern: string; readonly flags: string }[];
  /** Expressions that are put together when the program runs, and cannot be checked here. */
  readonly dynamic: readonly string[];
}

/** Types become spaces, so that places stay as they are; except in files with JSX, which Node does not run. */
function codeOf(path: string, text: string): string {
  if (path.endsWith('.tsx')) return transformSync(text, { loader: 'tsx', jsx: 'automatic' }).code;
  return path.endsWith('.ts') ? stripTypeScriptTypes(text) : text.replace(/^#!/, '//');
}

function expressionsIn(path: string, text: string): Found {
  const expressions: Found['expressions'][number][] = [];
  const dynamic: string[] = [];
  const code = codeOf(path, text);
  const program = parse(code, { ecmaVersion: 'latest', sourceType: 'module' });
  const checkCall = (call: CallExpression | NewExpression): void => {
    const { callee, start, end } = call;
    const [argument] = call.arguments;
    const isConstructor = callee.type === 'Identifier' && callee.name === 'RegExp';
    // These methods take a string for a pattern.
    const takesPattern =
      callee.type === 'MemberExpression' &&
      callee.property.type === 'Identifier' &&
      ['match', 'matchAll', 'search'].includes(callee.property.name) &&
      (argument?.type === 'TemplateLiteral' || (argument?.type === 'Literal' && typeof argument.value === 'string'));
    if (isConstructor || takesPattern) dynamic.push(`${path}: ${code.slice(start, end)}`);
  };
  simple(program, {
    Literal: ({ regex }) => void (regex && expressions.push(regex)),
    NewExpression: checkCall,
    CallExpression: checkCall,
  });
  return { expressions, dynamic };
}

suite('regular expressions', () => {
  let check: typeof checkSync;
  before(async () => {
    process.env['RECHECK_BACKEND'] = 'pure'; // without it, the package looks for its binary and for Java
    ({ checkSync: check } = await import('recheck'));
  });

  /**
   * The status that the check proves: it only samples lookarounds and counts above 300, which finds something now and then. The
   * timeout is far beyond the time of a proof, which may have to wait for a processor.
   */
  const statusOf = (pattern: string, flags: string): string => {
    const { status, checker } = check(pattern, flags, { timeout: 600_000, maxRepeatCount: 300 });
    return checker === 'fuzz' ? `${status}, but not proven` : status;
  };

  test('the check finds those that are quadratic or worse, wherever they are', () => {
    const source = String.raw`
      const share = a / b / c; // /not one/
      const text = '/nor this/' + ${'`${x ? /^a+$/.test(x) : /(a|a)*b/u}/no/`'};
      if (a) /\d+\.?\d*x/g.exec(text);
      text.match('a+$'); text.search(share); new RegExp(text); RegExp('a');`;
    const { expressions, dynamic } = expressionsIn('example.ts', source);
    assert.deepEqual(
      expressions.map(({ pattern, flags }) => [pattern, flags, statusOf(pattern, flags)]),
      [
        ['^a+$', '', 'safe'],
        ['(a|a)*b', 'u', 'vulnerable'],
        [String.raw`\d+\.?\d*x`, 'g', 'vulnerable'],
      ],
    );
    assert.deepEqual(dynamic, [
      "example.ts: text.match('a+$')",
      'example.ts: new RegExp(text)',
      "example.ts: RegExp('a')",
    ]);
  });

  test('every one in the source is a literal and linear', () => {
    const paths = globSync(['src/**/*.{ts,tsx}', 'bin/*.js'], { cwd: root }).filter((path) => !isTest(path));
    const found = paths.map((path) => ({ path, ...expressionsIn(path, readFileSync(`${root}/${path}`, 'utf8')) }));
    assert.deepEqual(
      found.flatMap(({ dynamic }) => dynamic),
      [],
    );
    const places = new Map<string, string>();
    for (const { path, expressions } of found) {
      for (const { pattern, flags } of expressions) places.set(`${flags}/${pattern}`, path);
    }
    assert.ok(places.size > 100);
    const bad = Array.from(places, ([expression, path]) => {
      const slash = expression.indexOf('/');
      const status = statusOf(expression.slice(slash + 1), expression.slice(0, slash));
      return `${path}: /${expression.slice(slash + 1)}/ is ${status}`;
    }).filter((line) => !line.endsWith(' is safe'));
    assert.deepEqual(bad, []);
  });
});
