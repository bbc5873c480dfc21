// The suite of kubectl (test/cmd of Kubernetes) against `fairlead server` with its controllers. KUBERNETES_SOURCE names a checkout of
// the version that the server reports, and FAIRLEAD_KUBECTL or the PATH a kubectl of it. Takes about ten minutes.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';

import { run } from '../harness/command.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { root } from '../harness/process.ts';
import { startControlPlane } from './control-plane.ts';
import type { Result } from './table.ts';
import { checkTable } from './table.ts';

const source = process.env['KUBERNETES_SOURCE'] ?? '';
const skip = source === '' && 'KUBERNETES_SOURCE does not name a checkout of Kubernetes';

test('the suite of kubectl has the results of docs/reference/conformance.md', { skip }, async () => {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await temporaryDirectory());
  const tokens = ['--token-auth-file', join(source, 'hack', 'testdata', 'auth-tokens.csv')];
  const server = await startControlPlane(path, tokens, stack);
  const [kubectl = assert.fail()] = await findKubectls();
  const port = /127\.0\.0\.1:(\d+)/.exec(await readFile(server.kubeconfig, 'utf8'))?.[1] ?? assert.fail();
  const results = join(path, 'results');
  const { out, err } = await run(join(root, 'test', 'kubernetes', 'test-cmd.sh'), [source, port, results], {
    env: { PATH: [dirname(kubectl.path), process.env['PATH'] ?? ''].join(delimiter) },
    timeoutMs: 30 * 60_000,
  });
  const text = await readFile(results, 'utf8').catch(() => assert.fail(out + err));
  await checkTable('kubectl', resultsOf(text));
});

/** One result for each function, from the lines that test-cmd.sh writes. */
function resultsOf(text: string): readonly Result[] {
  const lines = text.split('\n').map((line) => line.split(' '));
  const names = new Set(lines.flatMap(([event, name]) => (event === 'begin' && name !== undefined ? [name] : [])));
  return [...names].toSorted().map((name) => {
    const mine = lines.filter(([, each]) => each === name);
    const failures = mine.filter(([event]) => event === 'failure').map(([, , place = '']) => place);
    const ended = mine.some(([event]) => event === 'end');
    const places = [...new Set(failures)].join(', ');
    if (!ended) return { name, result: places === '' ? 'ends early' : `ends early, after errors at ${places}` };
    return { name, result: places === '' ? 'passes' : `errors at ${places}` };
  });
}
