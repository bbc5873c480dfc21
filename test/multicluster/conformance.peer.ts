// The conformance suite of the upstream API (sigs.k8s.io/mcs-api), on two clusters of `fairlead up`. MCS_CONFORMANCE names its
// program, built by `go test -c` in the folder conformance of that repository; MCS_CONFORMANCE_FILTER, if it is set, selects
// specs by label, and MCS_CONFORMANCE_REPORT names a file for the report that the suite writes for submission. Needs root, since the suite connects to port 42, and nslookup. Deployments, Pods and `exec` are simulated (see
// conformance/), since there are no kubelets; the API servers, the controllers, DNS and the proxy are the real ones.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { load } from 'js-yaml';

import { Client } from '../../src/client/client.ts';
import { version } from '../../src/cli/program.ts';
import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { startFront } from './conformance/front.ts';
import { writeTools } from './conformance/tools.ts';
import { Workloads } from './conformance/workloads.ts';

const program = process.env['MCS_CONFORMANCE'] ?? '';
const skip = program === '' && 'MCS_CONFORMANCE does not name the conformance suite';

interface Spec {
  readonly LeafNodeText: string;
  readonly LeafNodeType: string;
  readonly LeafNodeLabels: readonly string[] | null;
  readonly ContainerHierarchyLabels: readonly (readonly string[] | null)[] | null;
  readonly State: string;
  readonly Failure?: { readonly Message?: string };
}

test('MCS-9 the conformance suite of the upstream API passes', { skip }, async () => {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await temporaryDirectory());
  const up = stack.use(await startFairlead(path, ['up', '--store', 'memory', '--log-level', 'error']));
  const servers = new Map<string, string>();
  for (const [index, cluster] of ['east', 'west'].entries())
    servers.set(cluster, await frontOf(up, { cluster, index }, stack));
  const kubeconfig = join(path, 'fronts.kubeconfig');
  await writeFile(kubeconfig, JSON.stringify(kubeconfigOf(servers)));
  const report = join(path, 'report.json');
  const filter = process.env['MCS_CONFORMANCE_FILTER'];
  const implementation = [
    '-organization=Fairlead',
    '-project=Fairlead',
    `-version=${version}`,
    '-url=https://fairlead.dev',
  ];
  const flags = [
    '-kubeconfig',
    kubeconfig,
    '-contexts',
    'east,west',
    `-ginkgo.json-report=${report}`,
    ...implementation,
  ];
  const more = filter === undefined ? [] : [`-ginkgo.label-filter=${filter}`];
  const child = spawn(program, [...flags, ...more], { cwd: path, stdio: ['ignore', 'pipe', 'inherit'] });
  stack.defer(() => void child.kill('SIGKILL'));
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk));
  await once(child, 'close');
  const submitted = process.env['MCS_CONFORMANCE_REPORT'];
  if (submitted !== undefined) await copyFile(join(path, 'report.yaml'), submitted);
  const specs = await readReport(report).catch((cause: unknown) => {
    throw new Error(`no report: ${printed}`, { cause });
  });
  for (const line of tally(specs)) console.log(line);
  assert.ok(specs.length > 0, printed);
  assert.deepEqual(
    specs
      .filter(({ State }) => State !== 'passed' && (State !== 'skipped' || filter === undefined))
      .map(({ LeafNodeText, Failure }) => `${LeafNodeText}: ${Failure?.Message ?? ''}`),
    [],
  );
});

/** A proxy in front of the API server of one cluster, and its workloads. */
async function frontOf(
  up: Fairlead,
  { cluster, index }: { readonly cluster: string; readonly index: number },
  stack: AsyncDisposableStack,
): Promise<string> {
  const config = await readKubeconfig({ paths: [up.kubeconfig], context: cluster });
  const client = stack.use(new Client(overHttps(config)));
  stack.use(new Workloads(client, `127.${192 + index}.42`));
  const [, address = '', port = ''] = [...up.process.out.matchAll(/dns (\S+):(\d+)/g)][index] ?? [];
  const tools = join(up.directory, `tools-${cluster}`);
  await mkdir(tools);
  const env = await writeTools(tools, { address, port });
  const read = (name: string): Promise<string> => readFile(join(up.directory, 'pki', cluster, name), 'utf8');
  const [ca, cert, key] = await Promise.all([read('ca.crt'), read('admin.crt'), read('admin.key')]);
  return startFront({ server: await serverOf(up.kubeconfig, cluster), credentials: { ca, cert, key }, env }, stack);
}

async function serverOf(kubeconfig: string, cluster: string): Promise<string> {
  const { clusters } = load(await readFile(kubeconfig, 'utf8')) as {
    readonly clusters: readonly { readonly name: string; readonly cluster: { readonly server: string } }[];
  };
  return clusters.find(({ name }) => name === cluster)?.cluster.server ?? assert.fail(`no cluster ${cluster}`);
}

const kubeconfigOf = (servers: ReadonlyMap<string, string>): object => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: Array.from(servers, ([name, server]) => ({ name, cluster: { server } })),
  users: [{ name: 'nobody', user: {} }],
  contexts: Array.from(servers.keys(), (name) => ({ name, context: { cluster: name, user: 'nobody' } })),
});

async function readReport(path: string): Promise<readonly Spec[]> {
  const [suite] = JSON.parse(await readFile(path, 'utf8')) as readonly { readonly SpecReports: readonly Spec[] }[];
  return (suite?.SpecReports ?? []).filter(({ LeafNodeType }) => LeafNodeType === 'It');
}

/** The number of required and optional specs that pass. */
function tally(specs: readonly Spec[]): readonly string[] {
  const labels = ({ LeafNodeLabels, ContainerHierarchyLabels }: Spec): readonly string[] => [
    ...(LeafNodeLabels ?? []),
    ...(ContainerHierarchyLabels ?? []).flatMap((each) => each ?? []),
  ];
  return ['Required', 'Optional'].map((label) => {
    const those = specs.filter((spec) => labels(spec).includes(label));
    return `${label}: ${those.filter(({ State }) => State === 'passed').length} of ${those.length} pass`;
  });
}
