// `fairlead install` and `uninstall` against an API server in this process.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadAll } from 'js-yaml';
import type { Kind } from '../../api/kind.ts';
import { subjectAccessReviewKind } from '../../api/kinds/authorization/subjectaccessreview/kind.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { serviceAccountKind } from '../../api/kinds/core/serviceaccount/kind.ts';
import { kinds } from '../../api/kinds/registry.ts';
import { Client } from '../../client/client.ts';
import { overHttps } from '../../client/https.ts';
import { readKubeconfig } from '../../client/kubeconfig.ts';
import type { Cluster } from '../../library.ts';
import { startCluster } from '../../library.ts';
import { until } from '../../server/testing/until.ts';
import { run } from '../run.ts';

interface Item {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const nameOf = ({ kind, metadata: { name, namespace } }: Item): string =>
  `${kind} ${name}${namespace === undefined ? '' : ` in ${namespace}`}`;

/** The kinds of objects that an installation may have. */
const installedKinds: readonly Kind[] = kinds.filter(
  ({ kind, storage, stored }) =>
    stored &&
    storage === undefined &&
    /^(?:Deployment|DaemonSet|Service|ServiceAccount|Secret|Lease|PodDisruptionBudget|(?:Cluster)?Role(?:Binding)?)$/.test(
      kind,
    ),
);

describe('fairlead install', () => {
  let cluster: Cluster;
  let client: Client;
  let directory = '';
  const fairlead = async (...args: readonly string[]): Promise<Result> => {
    const printed: Record<'out' | 'err', string[]> = { out: [], err: [] };
    const code = await run(args, { out: (text) => printed.out.push(text), err: (text) => printed.err.push(text) });
    return { code, out: printed.out.join(''), err: printed.err.join('') };
  };
  const inCluster = (...args: readonly string[]): Promise<Result> =>
    fairlead(...args, '--kubeconfig', cluster.kubeconfigPath);
  const printed = async (...args: readonly string[]): Promise<readonly Item[]> =>
    loadAll((await fairlead('install', '-o', 'yaml', ...args)).out) as Item[];
  /** Object → its revision. */
  const revisions = async (): Promise<Record<string, string | undefined>> => {
    const lists = await Promise.all(installedKinds.map(async (kind) => ({ kind, ...(await client.list(kind)) })));
    const found = lists.flatMap(({ kind, items }) =>
      items
        .filter(({ metadata }) => /^(?:fairlead|member)-/.test(metadata.name ?? ''))
        .map(({ metadata }) => [`${kind.kind}/${metadata.name}`, metadata.resourceVersion] as const),
    );
    return Object.fromEntries(found);
  };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'fairlead-install-'));
    cluster = await startCluster({ parts: [] });
    client = new Client(overHttps(await readKubeconfig({ paths: [cluster.kubeconfigPath] })));
  });
  after(async () => {
    client[Symbol.dispose]();
    await cluster.stop();
    await rm(directory, { recursive: true });
  });

  test('prints the manifests of the parts, and all definitions that they need', async () => {
    const names = (await printed('--parts', 'reaper', '--image', 'registry.example.org:5000/x:1')).map(nameOf);
    assert.deepEqual(names, [
      'CustomResourceDefinition serviceexports.multicluster.k8s.io',
      'CustomResourceDefinition importedservices.multicluster.k8s.io',
      'CustomResourceDefinition serviceexports.multicluster.x-k8s.io',
      'CustomResourceDefinition serviceimports.multicluster.x-k8s.io',
      'CustomResourceDefinition clusterproperties.about.k8s.io',
      'Namespace fairlead-system',
      'ServiceAccount fairlead-reaper in fairlead-system',
      'ClusterRole fairlead-reaper',
      'ClusterRoleBinding fairlead-reaper',
      'Service fairlead-reaper-metrics in fairlead-system',
      'Deployment fairlead-reaper in fairlead-system',
      'PodDisruptionBudget fairlead-reaper in fairlead-system',
    ]);
  });

  test('the gateway reads its certificate from a Secret, and other clusters can reach it by a load balancer', async () => {
    const file = join(directory, 'values.yaml');
    await writeFile(file, 'gateway: { enabled: true, tlsSecret: set-tls, serviceType: LoadBalancer }');
    const items = await printed('--parts', 'gateway', '--values', file, '--namespace', 'edge');
    assert.deepEqual(items.map(nameOf), [
      'Namespace edge',
      'ServiceAccount fairlead-gateway in edge',
      'ClusterRole fairlead-gateway',
      'ClusterRoleBinding fairlead-gateway',
      'Role fairlead-gateway in fairlead-system',
      'RoleBinding fairlead-gateway in fairlead-system',
      'Service fairlead-gateway in fairlead-system',
      'Service fairlead-gateway-metrics in edge',
      'Deployment fairlead-gateway in edge',
      'PodDisruptionBudget fairlead-gateway in edge',
    ]);
    const text = JSON.stringify(items);
    assert.match(text, /"secretName":"set-tls"/);
    assert.match(text, /"spec":\{"type":"LoadBalancer","ports":\[\{"name":"peers","port":9443,"protocol":"TCP"\}\]\}/);
  });

  test('every part can be installed, and installing again changes nothing', async () => {
    const parts = 'dns,multicluster,reaper,controllers,proxy,loadbalancer,gateway';
    const installed = `installed dns, multicluster, reaper, controllers, proxy, loadbalancer, gateway in namespace fairlead-system of test\n`;
    assert.deepEqual(await inCluster('install', '--parts', parts), { code: 0, out: installed, err: '' });
    const before = await revisions();
    assert.ok('DaemonSet/fairlead-proxy' in before);
    assert.deepEqual(await inCluster('install', '--parts', parts), { code: 0, out: installed, err: '' });
    assert.deepEqual(await revisions(), before);
  });

  test('an account of a part may do what the part does, and no more', async () => {
    const can = async (account: string, question: string): Promise<boolean> => {
      const [verb = '', resource = '', namespace] = question.split(' ');
      const [group] = kinds.filter(({ plural }) => plural === resource).map((kind) => kind.group);
      const user = `system:serviceaccount:fairlead-system:fairlead-${account}`;
      const attributes = { verb, resource, group: group ?? '', ...(namespace === undefined ? {} : { namespace }) };
      const { status } = await client.create(subjectAccessReviewKind, {
        metadata: {},
        spec: { user, resourceAttributes: attributes },
        status: { allowed: false },
      });
      return status?.allowed === true;
    };
    const answers: readonly (readonly [string, string, boolean])[] = [
      ['dns', 'watch services', true],
      ['dns', 'get secrets fairlead-system', false],
      ['multicluster', 'patch secrets fairlead-system', true],
      ['multicluster', 'get secrets default', false],
      ['multicluster', 'list services', false],
      ['multicluster', 'update clustermembers fairlead-system', true],
      ['controllers', 'delete endpointslices', true],
      ['controllers', 'delete deployments', false],
      ['controllers', 'update leases fairlead-system', true],
      ['controllers', 'update leases kube-system', false],
      ['reaper', 'create endpointslices', false],
      ['gateway', 'watch endpointslices', true],
      ['gateway', 'create endpointslices fairlead-system', true],
      ['gateway', 'update endpointslices default', false],
      ['gateway', 'get secrets fairlead-system', false],
    ];
    for (const [account, question, want] of answers)
      assert.equal(await can(account, question), want, `${account}: ${question}`);
  });

  test('values that do not exist or have another type are errors that name them, before anything is done', async () => {
    const file = join(directory, 'values.yaml');
    const cases: readonly (readonly [string, string])[] = [
      ['dsn: { enabled: true }', 'there is no value "dsn": known are image, crds,'],
      ['dns: { replica: 3 }', 'there is no value "dns.replica": known are enabled, args,'],
      ['dns: { replicas: 0 }', '"dns.replicas": expected a number of 1 or more'],
      ['dns: { enabled: maybe }', '"dns.enabled": expected true or false'],
      ['dns: { args: --x }', '"dns.args": expected a list'],
      ['dns: 3', '"dns" is not a mapping'],
      ['image: { pullPolicy: Sometimes }', '"image.pullPolicy": expected one of Always, IfNotPresent, Never'],
      ['[1]', 'expected a mapping of values'],
      ['{', 'is not YAML: '],
    ];
    for (const [content, want] of cases) {
      await writeFile(file, content);
      const { code, err } = await inCluster('install', '--values', file);
      assert.deepEqual([code, err.split('\n').length], [2, 2], err);
      assert.ok(err.includes(want), `${err} should include ${want}`);
    }
    const unknown = await inCluster('install', '--parts', 'dns,dashboard');
    assert.equal(unknown.code, 2, unknown.err);
    const image = await inCluster('install', '--image', 'registry.example.org:5000/fairlead');
    assert.match(image.err, /--image registry\.example\.org:5000\/fairlead: expected NAME:TAG/);
  });

  test('an object that the server rejects leaves nothing half installed', async () => {
    await client.create(namespaceKind, { metadata: { name: 'half' }, spec: {}, status: {} });
    const namespace = { namespace: 'half' };
    await until(
      'the namespace is complete',
      async () => (await client.list(serviceAccountKind, namespace)).items.length > 0,
    );
    const file = join(directory, 'values.yaml');
    await writeFile(file, 'dns: { resources: { requests: { cpu: lots } } }');
    const { code, err } = await inCluster('install', '--values', file, '--namespace', 'half', '--parts', 'dns,reaper');
    assert.equal(code, 1);
    assert.match(err, /^fairlead: the server rejects Deployment fairlead-dns in half: .*; nothing was changed\n$/);
    const accounts = (await client.list(serviceAccountKind, namespace)).items.map(({ metadata }) => metadata.name);
    assert.deepEqual(accounts, ['default']);
  });

  test('uninstall removes all of it, and names a member that has not left', async () => {
    const joined = await inCluster('mcs', 'join', 'test', '--id', 'one');
    assert.equal(joined.code, 0, joined.err);
    const { code, err } = await inCluster('uninstall');
    assert.equal(code, 1);
    assert.match(
      err,
      /^fairlead: the set still has the members one: run `fairlead mcs leave` for each, or pass --force/,
    );
    const forced = await inCluster('uninstall', '--force');
    assert.equal(forced.code, 0, forced.err);
    assert.match(forced.out, /^deleted ClusterMember one in fairlead-system$/m);
    await until(
      'the namespace is gone',
      async () => (await client.find(namespaceKind, { name: 'fairlead-system' })) === undefined,
    );
    assert.deepEqual(await revisions(), {});
    assert.deepEqual(await inCluster('uninstall'), { code: 0, out: 'nothing is installed in test\n', err: '' });
  });
});
