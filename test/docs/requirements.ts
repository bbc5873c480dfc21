// Generates the table of docs/explanation/proposals.md: for each requirement the files with tests that name its ID.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { root } from '../harness/process.ts';

const page = join(root, 'docs', 'explanation', 'proposals.md');
const [begin, end] = ['<!-- requirements:begin -->', '<!-- requirements:end -->'];
const id = /\b(?:SRV|NAME|LB|EXT|MCS)-\d+\b/g;
/** The name of a test, a row of a table or a story; it begins with the IDs that it proves. */
const names = /(['"`])((?:SRV|NAME|LB|EXT|MCS)-\d+.*?)\1|^## (.+)$/gm;

/** The page with the current table. */
export function withRequirements(): string {
  const text = readFileSync(page, 'utf8');
  const [before = '', rest = ''] = text.split(begin);
  const [, after = ''] = rest.split(end);
  return `${before}${begin}\n${table()}\n${end}${after}`;
}

function table(): string {
  const texts = readFileSync(join(root, 'docs', 'reference', 'requirements.md'), 'utf8');
  const known = texts.match(/(?<=^\| )(?:SRV|NAME|LB|EXT|MCS)-\d+(?= \|)/gm) ?? [];
  const files = filesById();
  const rows = known.map((each) => `| ${each} | ${links(files.get(each) ?? [])} |`);
  return ['| requirement | tests |', '|---|---|', ...rows].join('\n');
}

function filesById(): ReadonlyMap<string, readonly string[]> {
  const files = new Map<string, string[]>();
  for (const path of globSync(['src/**/*.test.ts', 'test/**/*.ts', 'test/stories/*.md'], { cwd: root }).toSorted()) {
    const found = Array.from(
      readFileSync(join(root, path), 'utf8').matchAll(names),
      ([, , name, heading]) => name ?? heading,
    );
    for (const each of new Set(found.join('\n').match(id))) files.set(each, [...(files.get(each) ?? []), path]);
  }
  return files;
}

/** The first files by path; further tests of a requirement show the same. */
function links(paths: readonly string[]): string {
  const shown = paths.slice(0, 4).map((path) => `[${path.replace(/^(?:src|test)\//, '')}](../../${path})`);
  const others = paths.length - shown.length;
  return others > 0 ? `${shown.join(', ')} and ${others} more` : shown.join(', ');
}
