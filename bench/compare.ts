// `npm run bench:compare -- BEFORE SUITE… [--after COMMIT] [--rounds N]`: runs suites (see suites.ts) in two commits alternately, so that
// the noise of a machine falls on both, and prints the medians of every figure. AFTER is HEAD unless it is given.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { figuresIn } from './figures.ts';
import { median } from './quantile.ts';
import { table } from './table.ts';

const root = join(import.meta.dirname, '..');
const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

/** A commit, checked out in a directory of its own. */
interface Side extends AsyncDisposable {
  readonly commit: string;
  readonly directory: string;
}

async function checkOut(revision: string): Promise<Side> {
  const commit = git('rev-parse', '--short', '--verify', `${revision}^{commit}`);
  const directory = join(await mkdtemp(join(tmpdir(), 'fairlead-compare-')), commit);
  git('worktree', 'add', '--quiet', '--detach', directory, commit);
  const isSame = git('diff', '--name-only', commit, '--', 'package-lock.json') === '';
  if (isSame) await symlink(join(root, 'node_modules'), join(directory, 'node_modules'));
  else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: directory, stdio: 'ignore' });
  return {
    commit,
    directory,
    async [Symbol.asyncDispose]() {
      git('worktree', 'remove', '--force', directory);
      await rm(join(directory, '..'), { recursive: true, force: true });
    },
  };
}

/** Fires on Ctrl-C and SIGTERM, so that both directories are removed. */
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error('stopped')));

/** Runs the suites of a commit; returns what they print. */
async function measure({ directory }: Side, suites: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, ['bench/run.ts', ...suites], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
    signal: stop.signal,
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the benchmark of ${directory} failed`);
  return printed;
}

/** Name of a figure → its values in all rounds. */
type Values = Map<string, number[]>;

function collect(values: Values, printed: string): void {
  for (const [name, value] of figuresIn(printed)) values.set(name, [...(values.get(name) ?? []), value]);
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { after: { type: 'string', default: 'HEAD' }, rounds: { type: 'string', default: '3' } },
});
const [revision, ...suites] = positionals;
const rounds = Number(options.rounds);
if (revision === undefined || suites.length === 0 || !Number.isInteger(rounds) || rounds < 1) {
  console.error('usage: npm run bench:compare -- BEFORE SUITE… [--after COMMIT] [--rounds N]');
  process.exit(2);
}

await using before = await checkOut(revision);
await using after = await checkOut(options.after);
const sides = [before, after].map((side) => ({ side, values: new Map() as Values }));
for (let round = 0; round < rounds; round++) {
  // The first of a pair runs on a cooler machine, so they take turns.
  for (const { side, values } of round % 2 === 0 ? sides : sides.toReversed()) {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[Kround ${round + 1} of ${rounds}: ${side.commit}`);
    collect(values, await measure(side, suites));
  }
}
if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');

const [old = new Map<string, number[]>(), now = new Map<string, number[]>()] = sides.map(({ values }) => values);
const print = (value: number): string => (value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3));
const rows = [...now].map(([name, values]) => {
  const [was, is] = [median(old.get(name) ?? []), median(values)];
  return [
    name,
    Number.isNaN(was) ? '' : print(was),
    print(is),
    Number.isNaN(was) || was === 0 ? '' : `${(is / was).toFixed(2)}×`,
  ];
});
console.log(table(['', before.commit, after.commit, 'after / before'], rows));
