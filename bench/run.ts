// `npm run bench -- [NAME…] [--write]`: runs the named suites (see suites.ts), or all of them, and prints a table for each;
// `--write` also writes them to docs/explanation/benchmarks.md. Peers are measured in the same run if they are installed: programs on
// the PATH, or named by KUBE_APISERVER, ETCD, KUBE_CONTROLLER_MANAGER, KUBE_PROXY, HAPROXY, COREDNS, KNOTD and EXTERNAL_DNS.

import { readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';

import { suites } from './suites.ts';

const progress = (text: string): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
};

const names = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const unknown = names.filter((name) => !suites.some((suite) => suite.name === name));
if (unknown.length > 0) {
  console.error(
    `there is no ${unknown.join(', ')} to measure: choose from ${suites.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}

const load = (): string => (loadavg()[0] ?? 0).toFixed(1);

for (const { name, run } of suites) {
  if (names.length > 0 && !names.includes(name)) continue;
  const before = load();
  const figures = await run(progress);
  progress('');
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), Node ${process.version}`;
  const date = new Date().toISOString().slice(0, 10);
  const text = `Measured on ${date}, ${machine}; load ${before} before, ${load()} after.\n\n${figures}`;
  console.log(`${name}\n${text}\n`);
  if (process.argv.includes('--write')) await put(name, text);
}
process.exit(0); // connections of watches are left open

/** Writes a table between its markers. */
async function put(name: string, text: string): Promise<void> {
  const file = new URL('../docs/explanation/benchmarks.md', import.meta.url);
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const page = await readFile(file, 'utf8');
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from)
    throw new Error(`docs/explanation/benchmarks.md has no ${begin} … ${end} to put figures between`);
  await writeFile(file, `${page.slice(0, from)}${begin}\n${text}\n${page.slice(to)}`);
}
