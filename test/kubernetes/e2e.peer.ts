// Specs of Kubernetes' end-to-end suite that need no container, against `fairlead server` with its controllers. E2E_TEST names the
// program e2e.test of the version that the server reports, and FAIRLEAD_KUBECTL or the PATH a kubectl of it. E2E_FOCUS, a regular
// expression, selects specs; without it the results are compared with the page.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import { Client } from '../../src/client/client.ts';
import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import { nodeKind } from '../../src/api/kinds/core/node/kind.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { startControlPlane } from './control-plane.ts';
import { chosenSpecs, runSpecs } from './ginkgo.ts';
import { isRunnable } from './specs.ts';
import { checkTable } from './table.ts';

const program = process.env['E2E_TEST'] ?? '';
const skip = program === '' && 'E2E_TEST does not name the end-to-end suite of Kubernetes';

/** How many processes run specs at once. */
const processes = 4;

test('end-to-end specs of Kubernetes have the results of docs/reference/conformance.md', { skip }, async () => {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await temporaryDirectory());
  const chosen = await chosenSpecs(program, isRunnable);
  const server = await startControlPlane(join(path, 'server'), [], stack);
  await createNodes(server.kubeconfig);
  const [kubectl = assert.fail()] = await findKubectls();
  const flags = [`--kubeconfig=${server.kubeconfig}`, `--kubectl-path=${kubectl.path}`];
  const results = await runSpecs({ program, flags }, chosen, processes);
  if (process.env['E2E_FOCUS'] === undefined) await checkTable('e2e', results);
});

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
