// The tables of docs/reference/conformance.md. Each has the expected results of one suite, with reasons that people wrote.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { root } from '../harness/process.ts';

const page = join(root, 'docs', 'reference', 'conformance.md');

/** The result of a test of a suite. */
export interface Result {
  readonly name: string;
  /** `passes`, or how it fails. */
  readonly result: string;
}

interface Row extends Result {
  readonly reason: string;
}

/**
 * Compares results with a table of the page: all rows must be the same, and those that do not pass must have a reason. With
 * CONFORMANCE_WRITE=1 the results replace those of the page, and reasons are kept.
 */
export async function checkTable(suite: string, results: readonly Result[]): Promise<void> {
  const text = await readFile(page, 'utf8');
  const { before, rows, after } = tableIn(text, suite);
  const reasons = new Map(rows.map(({ name, reason }) => [name, reason]));
  if (process.env['CONFORMANCE_WRITE'] === '1') {
    const current = results.map(({ name, result }) => ({
      name,
      result,
      reason: result === 'passes' ? '' : (reasons.get(name) ?? ''),
    }));
    await writeFile(page, before + render(current) + after);
    return;
  }
  const plain = ({ name, result }: Result): string => `${name}: ${result}`;
  assert.deepEqual(results.map(plain), rows.map(plain));
  assert.deepEqual(
    rows.filter(({ result, reason }) => result !== 'passes' && reason === '').map(({ name }) => name),
    [],
    'each difference needs a reason',
  );
}

function tableIn(text: string, suite: string): { before: string; rows: readonly Row[]; after: string } {
  const [begin, end] = [`<!-- ${suite}:begin -->\n`, `<!-- ${suite}:end -->`];
  const [before = '', rest = ''] = text.split(begin);
  const [table = '', after] = rest.split(end);
  assert.ok(after !== undefined, `${page} has no table ${suite}`);
  const rows = table
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| ?| ?\|$/g, '').trim()))
    .map(([name = '', result = '', reason = '']) => ({ name, result, reason }));
  return { before: before + begin, rows, after: end + after };
}

function render(rows: readonly Row[]): string {
  const passed = rows.filter(({ result }) => result === 'passes').length;
  const summary = passed === 0 ? [] : [`${passed} of ${rows.length} pass.\n`];
  const lines = rows.map(({ name, result, reason }) => `| ${name} | ${result} | ${reason} |`);
  return [...summary, '| test | result | reason |', '|---|---|---|', ...lines, ''].join('\n');
}
