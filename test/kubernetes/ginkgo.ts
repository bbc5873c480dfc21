// Runs Kubernetes' end-to-end suite.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { run } from '../harness/command.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import type { Result } from './table.ts';
import type { Spec } from './specs.ts';
import { nameOf, waitsForever } from './specs.ts';

/** The suite and the prefix of its command line. */
export interface Suite {
  readonly program: string;
  readonly within?: readonly string[];
  readonly flags: readonly string[];
}

/** Runs the suite with flags, and resolves with the specs in its report. */
export async function ginkgo(
  { program, within = [], flags }: Suite,
  more: readonly string[],
): Promise<readonly Spec[]> {
  await using folder = await temporaryDirectory();
  const report = join(folder.path, 'report.json');
  const common = ['--provider=skeleton', '--ginkgo.no-color', `--ginkgo.json-report=${report}`];
  const [file = '', ...args] = [...within, program, ...common, ...flags, ...more];
  const { out, err } = await run(file, args, { cwd: folder.path, timeoutMs: 30 * 60_000 });
  const text = await readFile(report, 'utf8').catch(() => assert.fail(out + err));
  const [suite] = JSON.parse(text) as readonly { readonly SpecReports: readonly Spec[] }[];
  return suite?.SpecReports ?? [];
}

/** The names of the specs that are chosen, and that E2E_FOCUS, a regular expression, matches. */
export async function chosenSpecs(program: string, isChosen: (spec: Spec) => boolean): Promise<readonly string[]> {
  const only = new RegExp(process.env['E2E_FOCUS'] ?? '');
  const all = await ginkgo({ program, flags: ['--kubeconfig=none'] }, ['--ginkgo.dry-run']);
  return all
    .filter(isChosen)
    .map(nameOf)
    .filter((name) => only.test(name));
}

/** A pattern for exactly these names. */
const patternOf = (names: readonly string[]): string =>
  names.map((name) => name.replaceAll(/[^\w ]/g, String.raw`\$&`)).join('|');

/** Runs specs in several processes, those marked as serial afterwards and alone. Prints and returns their results. */
export async function runSpecs(suite: Suite, chosen: readonly string[], processes: number): Promise<readonly Result[]> {
  const limits = ['--disable-log-dump', '--dump-logs-on-failure=false'];
  const runAll = (names: readonly string[], timeout = process.env['E2E_TIMEOUT'] ?? '25m'): Promise<readonly Spec[]> =>
    ginkgo(suite, [...limits, `--ginkgo.timeout=${timeout}`, `--ginkgo.focus=(?:${patternOf(names)})$`]);
  const isSerial = (name: string): boolean => name.includes('[Serial]');
  const others = chosen.filter((name) => !isSerial(name) && !waitsForever(name));
  const parts = Array.from({ length: processes }, (_, part) =>
    others.filter((_name, index) => index % processes === part),
  );
  const specs = (await Promise.all(parts.filter((part) => part.length > 0).map((part) => runAll(part)))).flat();
  for (const name of chosen.filter(waitsForever)) specs.push(...(await runAll([name], '20s')));
  const serial = chosen.filter(isSerial);
  if (serial.length > 0) specs.push(...(await runAll(serial)));
  const names = new Set(chosen);
  // The report of each process has all specs; those that it did not run are skipped.
  const ran = specs.filter((spec) => names.has(nameOf(spec)) && spec.State !== 'skipped');
  for (const spec of ran) console.log(`${spec.State} ${nameOf(spec)} ${spec.Failure?.Message ?? ''}`);
  return ran.map((spec) => ({ name: nameOf(spec), result: resultOf(spec) })).toSorted(byName);
}

const byName = (left: Result, right: Result): number => (left.name < right.name ? -1 : 1);

const resultOf = ({ State }: Spec): string => (State === 'passed' ? 'passes' : 'fails');
