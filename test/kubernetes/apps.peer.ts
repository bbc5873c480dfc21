// Specs of workloads in Kubernetes' end-to-end suite, with two agents that run Pods as processes of this machine. E2E_TEST and AGNHOST name
// the programs e2e.test and agnhost of the version that the server reports, and FAIRLEAD_KUBECTL or the PATH a kubectl of it. E2E_FOCUS, a
// regular expression, selects specs; without it the results are compared with the page.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { NobodysNetwork, whyNotNobody } from '../harness/nobody.ts';
import { FairleadProcess } from '../harness/process.ts';
import { chosenSpecs, runSpecs } from './ginkgo.ts';
import { isOfProcesses } from './specs.ts';
import { checkTable } from './table.ts';

const { E2E_TEST: program = '', AGNHOST: agnhost = '' } = process.env;
const reasons = program === '' || agnhost === '' ? ['E2E_TEST and AGNHOST do not name programs'] : whyNotNobody();
const skip = reasons.length > 0 && reasons.join();

/** How many processes run specs at once. */
const processes = 3;

const images = 'registry.k8s.io/e2e-test-images';
/** Image → what runs for it. Servers in the images are replaced by a process that only runs. */
const imageMap = {
  [`${images}/agnhost`]: `${agnhost} pause`,
  [`${images}/busybox`]: '/ /bin/sh',
  [`${images}/httpd`]: '/bin/sleep infinity',
  [`${images}/nginx`]: '/bin/sleep infinity',
  'registry.k8s.io/pause': '/bin/sleep infinity',
};

test('specs of workloads have the results of docs/reference/conformance.md', { skip }, async () => {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await temporaryDirectory());
  const chosen = await chosenSpecs(program, isOfProcesses);
  const { within } = stack.use(new NobodysNetwork({ asRoot: true }));
  const parts = ['--parts', 'server,controllers,dns,proxy'];
  const data = join(path, 'data');
  const up = stack.use(
    await startFairlead(data, ['up', '--cluster', 'east', '--store', 'memory', ...parts], { within }),
  );
  for (const index of [1, 2]) {
    const name = `node-${index}`;
    const kubeconfig = join(path, `${name}.kubeconfig`);
    await using user = new FairleadProcess(['user', 'add', name, '--node', '-o', kubeconfig, '--data-dir', data]);
    assert.equal(await user.ended(), 0, user.err);
    const own = ['--kubeconfig', kubeconfig, '--node-name', name, '--root-dir', join(path, name)];
    const network = ['--pod-network', 'loopback', '--pod-cidr', `127.192.${index * 16}.0/20`, '--node-ip', '127.0.0.1'];
    const servers = ['--address', '127.0.0.1', '--health-port', '0', '--allow-root', '--allow-host-path'];
    const mapped = Object.entries(imageMap).flatMap(([image, to]) => ['--image-map', `${image}=${to}`]);
    const agent = stack.use(new FairleadProcess(['agent', ...own, ...network, ...servers, ...mapped], { within }));
    await agent.ready();
  }
  const [kubectl = assert.fail()] = await findKubectls();
  const flags = [`--kubeconfig=${up.kubeconfig}`, `--kubectl-path=${kubectl.path}`];
  const results = await runSpecs({ program, within, flags }, chosen, processes);
  if (process.env['E2E_FOCUS'] === undefined) await checkTable('apps', results);
});
