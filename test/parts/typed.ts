// kubectl commands for tests with kube-apiserver.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

import { run } from '../harness/command.ts';
import { root } from '../harness/process.ts';
import { parseWords } from '../harness/transcript.ts';

/** The kubectl binary and kubeconfig. */
export interface Desk {
  readonly kubectl: string;
  readonly kubeconfig: string;
}

/** The output of a kubectl command, which must succeed. */
export async function typed({ kubectl, kubeconfig }: Desk, command: string, input = ''): Promise<string> {
  const args = ['--kubeconfig', kubeconfig, ...parseWords(command)];
  const { out, err, code } = await run(kubectl, args, { cwd: root, input });
  assert.equal(code, 0, `${command}: ${err}`);
  return out;
}

/** Repeats a command until its output matches. */
export async function typedUntil(desk: Desk, command: string, want: RegExp): Promise<void> {
  for (const end = performance.now() + 30_000; ; await delay(100)) {
    const out = await typed(desk, command).catch((error: unknown) => String(error));
    if (want.test(out)) return;
    assert.ok(performance.now() < end, `${command} never printed ${String(want)}: ${out}`);
  }
}
