// Specs of Kubernetes' end-to-end suite that need no container, against `fairlead server` with its controllers. E2E_TEST names the
// program e2e.test of the version that the server reports, and FAIRLEAD_KUBECTL or the PATH a kubectl of it. E2E_FOCUS, a regular
// expression, selects specs; without it the results are compared with the page.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { Client } from '../../src/client/client.ts';
import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import { nodeKind } from '../../src/api/kinds/core/node/kind.ts';
import { run } from '../harness/command.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { startControlPlane } from './control-plane.ts';
import type { Spec } from './specs.ts';
import { isRunnable, nameOf, waitsForever } from './specs.ts';
import { checkTable } from './table.ts';

const program = process.env['E2E_TEST'] ?? '';
const skip = program === '' && 'E2E_TEST does not name the end-to-end suite of Kubernetes';

/** How many processes run specs at once. */
const processes = 4;

/** Runs the suite with flags, and resolves with the specs in its report. */
async function ginkgo(flags: readonly string[]): Promise<readonly Spec[]> {
  await using folder = await temporaryDirectory();
  const report = join(folder.path, 'report.json');
  const common = ['--provider=skeleton', '--ginkgo.no-color', `--ginkgo.json-report=${report}`];
  const { out, err } = await run(program, [...common, ...flags], { cwd: folder.path, timeoutMs: 30 * 60_000 });
  const text = await readFile(report, 'utf8').catch(() => assert.fail(out + err));
  const [suite] = JSON.parse(text) as readonly { readonly SpecReports: readonly Spec[] }[];
  return suite?.SpecReports ?? [];
}

/** A pattern for exactly these names. */
const patternOf = (names: readonly string[]): string =>
  names.map((name) => name.replaceAll(/[^\w ]/g, String.raw`\$&`)).join('|');

test('end-to-end specs of Kubernetes have the results of docs/reference/conformance.md', { skip }, async () => {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await temporaryDirectory());
  const only = new RegExp(process.env['E2E_FOCUS'] ?? '');
  const all = await ginkgo(['--kubeconfig=none', '--ginkgo.dry-run']);
  const chosen = all
    .filter(isRunnable)
    .map(nameOf)
    .filter((name) => only.test(name));
  const server = await startControlPlane(join(path, 'server'), [], stack);
  await createNodes(server.kubeconfig);
  const [kubectl = assert.fail()] = await findKubectls();
  const flags = [`--kubeconfig=${server.kubeconfig}`, `--kubectl-path=${kubectl.path}`, '--disable-log-dump'];
  const runSpecs = (
    names: readonly string[],
    timeout = process.env['E2E_TIMEOUT'] ?? '25m',
  ): Promise<readonly Spec[]> =>
    ginkgo([
      ...flags,
      '--dump-logs-on-failure=false',
      `--ginkgo.timeout=${timeout}`,
      `--ginkgo.focus=(?:${patternOf(names)})$`,
    ]);
  const isSerial = (name: string): boolean => name.includes('[Serial]');
  const others = chosen.filter((name) => !isSerial(name) && !waitsForever(name));
  const parts = Array.from({ length: processes }, (_, part) =>
    others.filter((_name, index) => index % processes === part),
  );
  const specs = (await Promise.all(parts.filter((part) => part.length > 0).map((part) => runSpecs(part)))).flat();
  for (const name of chosen.filter(waitsForever)) specs.push(...(await runSpecs([name], '20s')));
  const serial = chosen.filter(isSerial);
  if (serial.length > 0) specs.push(...(await runSpecs(serial)));
  const names = new Set(chosen);
  // The report of each process has all specs; those that it did not run are skipped.
  const ran = specs.filter((spec) => names.has(nameOf(spec)) && spec.State !== 'skipped');
  for (const spec of ran) console.log(`${spec.State} ${nameOf(spec)} ${spec.Failure?.Message ?? ''}`);
  if (process.env['E2E_FOCUS'] !== undefined) return;
  await checkTable('e2e', ran.map((spec) => ({ name: nameOf(spec), result: resultOf(spec) })).toSorted(byName));
});

const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1);

const resultOf = ({ State }: Spec): string => (State === 'passed' ? 'passes' : 'fails');

/** The framework needs nodes that are ready. */
async function createNodes(kubeconfig: string): Promise<void> {
  using client = new Client(overHttps(await readKubeconfig({ paths: [kubeconfig] })));
  const ready = {
    type: 'Ready',
    status: 'True',
    lastHeartbeatTime: null,
    lastTransitionTime: null,
    reason: 'Ready',
    message: '',
  };
  for (const name of ['node-1', 'node-2']) {
    const status = { conditions: [ready], capacity: { cpu: '4', memory: '8Gi', pods: '110' } };
    await client.create(nodeKind, { metadata: { name }, spec: {}, status } as never);
  }
}
