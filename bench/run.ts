// `npm run bench -- controllers`: measures the controllers alone.
// `npm run bench -- multicluster`: measures clusters that share Services.
// `npm run bench`: measures the API server, and beside it kube-apiserver where it can be had (both programs on the PATH,
// or named by KUBE_APISERVER and ETCD). Prints a table; `--write` also puts it into docs/benchmarks.md.

import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';

import { abuseTokens, measureAbuse } from './abuse.bench.ts';
import { measureApi } from './api.bench.ts';
import type { Result } from './api.bench.ts';
import { measureControllers } from './controllers.bench.ts';
import { startFairlead } from './fairlead.ts';
import { startKubeApiserver } from './kube-apiserver.ts';
import { measureMulticluster } from './multicluster.bench.ts';
import type { Running } from './process.ts';
import { measureLimit } from './limit.bench.ts';

const progress = (text: string): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
};

const which = (program: string): string | undefined => {
  try {
    return execFileSync('which', [program], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
};

type Measure = (running: Running, progress: (text: string) => void) => Promise<Result[]>;

async function measured(running: Running, measure: Measure = measureApi): Promise<Result[]> {
  try {
    return await measure(running, (text) => progress(`${running.name}: ${text}`));
  } finally {
    await running.stop();
  }
}

if (process.argv.includes('controllers')) {
  for (const services of [1000, 5000]) {
    const results = await measureControllers({ services }, progress);
    for (const { name, value, unit } of results) console.log(`${name}: ${Math.round(value)} ${unit}`);
  }
  process.exit(0);
}

if (process.argv.includes('multicluster')) {
  for (const [clusters, endpoints] of [
    [3, 50],
    [10, 100],
  ] as const) {
    const results = await measureMulticluster({ clusters, services: 1000, endpoints });
    for (const { name, value, unit } of results) console.log(`${name}: ${value.toFixed(1)} ${unit}`);
  }
  process.exit(0);
}

const apiserver = process.env['KUBE_APISERVER'] ?? which('kube-apiserver');
const etcd = process.env['ETCD'] ?? which('etcd');

// The first run fills the compile cache, as the first start of a user does.
await (await startFairlead()).stop();
const ours = await measured(await startFairlead());
const peer =
  apiserver === undefined || etcd === undefined
    ? undefined
    : await measured(await startKubeApiserver({ apiserver, etcd }));
const limit = await measureLimit();
const abuse = await measured(await startFairlead(abuseTokens), measureAbuse);
progress('');

const number = (value: number): string => (value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1));
const show = ({ value, unit, cpuMicros }: Result): string =>
  `${number(value)} ${unit}${cpuMicros === undefined ? '' : ` (${number(cpuMicros)} µs CPU)`}`;
const better = (mine: Result, theirs: Result): string =>
  `${number(mine.unit === '/s' ? mine.value / theirs.value : theirs.value / mine.value)}×`;

const lines = ['| | Fairlead | kube-apiserver + etcd | ratio |', '|---|---|---|---|'];
for (const result of ours) {
  const other = peer?.find(({ name }) => name === result.name);
  lines.push(
    `| ${result.name} | ${show(result)} | ${other === undefined ? 'not here' : show(other)} | ${other === undefined ? '' : better(result, other)} |`,
  );
}
for (const result of [...limit, ...abuse]) lines.push(`| ${result.name} | ${show(result)} | | |`);
const table = lines.join('\n');
console.log(table);
if (peer === undefined) console.log('\nkube-apiserver and etcd are not on the PATH: no peer was measured');

if (process.argv.includes('--write')) {
  const file = new URL('../docs/benchmarks.md', import.meta.url);
  const text = await readFile(file, 'utf8');
  const date = new Date().toISOString().slice(0, 10);
  const where = `Measured on ${date}, ${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), Node ${process.version}.`;
  const begin = '<!-- api:begin -->';
  const end = '<!-- api:end -->';
  const block = `${begin}\n${where}\n\n${table}\n${end}`;
  await writeFile(file, text.replace(new RegExp(`${begin}[\\s\\S]*${end}`), block));
}
