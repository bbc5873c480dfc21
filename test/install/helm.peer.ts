// A set of two kube-apiservers and Fairlead's own server, installed by a real Helm and by `fairlead install`, in which every component
// has the rights of its account only. HELM, KUBE_APISERVER and ETCD name the programs; KUBE_CONTROLLER_MANAGER, if it is set, deletes
// namespaces. There are no kubelets: the test runs the commands of the Deployments.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';

import { load, loadAll } from 'js-yaml';

import { freePort } from '../../src/server/testing/free-port.ts';
import { until } from '../../src/server/testing/until.ts';
import type { Result } from '../harness/command.ts';
import { run } from '../harness/command.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { FairleadProcess, root } from '../harness/process.ts';
import { FairleadServer } from '../harness/server.ts';
import { findKubeApiserver, KubeApiserver } from '../parts/kube-apiserver.ts';
import { typed, typedUntil } from '../parts/typed.ts';

const namespace = 'fairlead-system';
const chart = join(root, 'deploy/helm/fairlead');
const programs = findKubeApiserver();
const helmProgram =
  process.env['HELM'] ??
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'helm'))
    .find((path) => existsSync(path));
const skip =
  (programs === undefined || helmProgram === undefined) &&
  'helm, kube-apiserver and etcd are not on the PATH, nor in HELM, KUBE_APISERVER and ETCD';

interface Item {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
  };
}

/** The parts of a kubeconfig that the test joins. */
interface Kubeconfig {
  readonly clusters: readonly { readonly name: string; readonly cluster: object }[];
  readonly users: readonly { readonly name: string; readonly user: object }[];
}

describe('an installation by Helm', { skip }, () => {
  const stack = new AsyncDisposableStack();
  const peers = new Map<string, KubeApiserver>();
  let folder = '';
  let kubectl = '';
  let kubeconfig = '';

  const helm = (...args: readonly string[]): Promise<Result> =>
    run(helmProgram ?? assert.fail(), args, { env: { KUBECONFIG: kubeconfig, HOME: folder } });
  const fairlead = (...args: readonly string[]): Promise<Result> =>
    run(process.execPath, [join(root, 'bin/fairlead.js'), ...args], { env: { KUBECONFIG: kubeconfig } });
  const must = async (result: Promise<Result>): Promise<string> => {
    const { code, out, err } = await result;
    assert.equal(code, 0, `${out}${err}`);
    return out;
  };
  const at = (context: string, command: string, input = ''): Promise<string> =>
    typed({ kubectl, kubeconfig }, `--context ${context} ${command}`, input);
  const prints = (context: string, command: string, want: RegExp): Promise<void> =>
    typedUntil({ kubectl, kubeconfig }, `--context ${context} ${command}`, want);

  /** Runs the command of a Deployment with the rights of its account; `more` replaces what only works in a Pod. */
  async function startPart(context: string, part: string, more: readonly string[]): Promise<FairleadProcess> {
    const token = (await at(context, `create token fairlead-${part} -n ${namespace}`)).trim();
    const config = load(await readFile(kubeconfig, 'utf8')) as Kubeconfig;
    const [cluster] = config.clusters.filter(({ name }) => name === context);
    const file = join(folder, `${context}-${part}`);
    const users = [{ name: 'sa', user: { token } }];
    const contexts = [{ name: 'sa', context: { cluster: context, user: 'sa' } }];
    await writeFile(file, JSON.stringify({ clusters: [cluster], users, contexts, 'current-context': 'sa' }));
    const args = JSON.parse(
      await at(
        context,
        `get deployment fairlead-${part} -n ${namespace} -o jsonpath='{.spec.template.spec.containers[0].args}'`,
      ),
    ) as readonly string[];
    const names = new Set(more.map((flag) => flag.replace(/=.*/, '')));
    const kept = args.filter((flag) => !names.has(flag.replace(/=.*/, '')) && flag !== '--coredns-ports');
    const process = stack.use(new FairleadProcess([...kept, ...more, '--kubeconfig', file]));
    await process.ready();
    return process;
  }

  before(async () => {
    folder = stack.use(await temporaryDirectory()).path;
    kubectl = (await findKubectls())[0]?.path ?? '';
    const configs = new Map<string, string>();
    for (const name of ['east', 'west']) {
      await mkdir(join(folder, name));
      const peer = stack.use(await KubeApiserver.start(join(folder, name), programs ?? assert.fail()));
      peers.set(name, peer);
      configs.set(name, await peer.kubeconfig('admin'));
    }
    const ours = stack.use(await FairleadServer.start(['--store', 'memory']));
    configs.set('ours', ours.kubeconfig);
    const read = await Promise.all(
      Array.from(configs, async ([name, path]) => {
        const { clusters, users } = load(await readFile(path, 'utf8')) as Kubeconfig;
        return { name, cluster: clusters[0]?.cluster, user: users[0]?.user };
      }),
    );
    kubeconfig = join(folder, 'kubeconfig');
    await writeFile(
      kubeconfig,
      JSON.stringify({
        clusters: read.map(({ name, cluster }) => ({ name, cluster })),
        users: read.map(({ name, user }) => ({ name, user })),
        contexts: read.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
        'current-context': 'west',
      }),
    );
    for (const context of ['east', 'west']) await prints(context, 'get --raw /readyz', /^ok$/);
    for (const [name, peer] of peers) await startControllerManager(name, peer);
  });
  after(() => stack.disposeAsync());

  async function startControllerManager(name: string, peer: KubeApiserver): Promise<void> {
    const program = process.env['KUBE_CONTROLLER_MANAGER'];
    if (program === undefined) return;
    const flags = [
      `--kubeconfig=${await peer.kubeconfig('controller-manager')}`,
      '--controllers=namespace-controller',
      '--leader-elect=false',
      `--secure-port=${await freePort()}`,
      `--cert-dir=${join(folder, `${name}-kcm`)}`,
    ];
    const child = spawn(program, flags, { stdio: 'ignore' });
    stack.defer(() => void child.kill('SIGKILL'));
  }

  test('the chart renders what `fairlead install` prints', async () => {
    const values = join(folder, 'values.yaml');
    const parts = ['dns', 'multicluster', 'reaper', 'controllers', 'proxy', 'loadbalancer', 'gateway'];
    const all = Object.fromEntries(
      parts.map((part) => [part, { enabled: true, args: ['--v=1'], tolerations: [{ operator: 'Exists' }] }]),
    );
    const more = {
      serviceMonitors: { enabled: true, labels: { release: 'x' } },
      image: { repository: 'r.example.org:5000/f', tag: '7' },
    };
    await writeFile(values, JSON.stringify({ ...all, ...more }));
    for (const [file, flag] of [
      [[], []],
      [
        ['-f', values],
        ['--values', values],
      ],
    ] as const) {
      const rendered = objectsIn(await must(helm('template', 'fairlead', chart, '-n', namespace, ...file)));
      const printed = objectsIn(await must(fairlead('install', '-o', 'yaml', ...flag)));
      const wanted = new Map(
        printed.filter(({ kind }) => kind !== 'Namespace').map((item) => [keyOf(item), comparable(item)]),
      );
      assert.equal(rendered.length, wanted.size);
      for (const item of rendered)
        assert.ok(isDeepStrictEqual(comparable(item), wanted.get(keyOf(item))), `${keyOf(item)} differs`);
    }
  });

  test('a value that does not exist, and a definition without our versions, install nothing', async () => {
    const unknown = await helm('install', 'fairlead', chart, '--kube-context', 'east', '--set', 'dns.replica=3');
    assert.notEqual(unknown.code, 0);
    assert.match(unknown.err, /additional properties 'replica' not allowed/);
    const schema = { openAPIV3Schema: { type: 'object' } };
    await at(
      'east',
      'apply -f -',
      JSON.stringify({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'serviceexports.multicluster.x-k8s.io' },
        spec: {
          group: 'multicluster.x-k8s.io',
          scope: 'Namespaced',
          names: { kind: 'ServiceExport', plural: 'serviceexports' },
          versions: [{ name: 'v9', served: true, storage: true, schema }],
        },
      }),
    );
    await prints('east', 'get serviceexports.v9.multicluster.x-k8s.io -A', /^$|No resources/);
    const foreign = await helm(
      'install',
      'fairlead',
      chart,
      '--kube-context',
      'east',
      '-n',
      namespace,
      '--create-namespace',
    );
    assert.notEqual(foreign.code, 0);
    assert.match(
      foreign.err,
      /serviceexports\.multicluster\.x-k8s\.io of the cluster serves none of the versions that this program reads/,
    );
    const ours = await fairlead('install', '--context', 'east', '--parts', 'reaper');
    assert.deepEqual(
      [ours.code, /serves v9, and this program reads v1beta1 and v1alpha1: .*; nothing was changed/.test(ours.err)],
      [1, true],
      ours.err,
    );
    assert.doesNotMatch(await at('east', 'get clusterroles -o name'), /fairlead/);
    await at('east', 'delete crd serviceexports.multicluster.x-k8s.io');
  });

  test('Helm installs it in Kubernetes and in Fairlead, and `fairlead install` does so too', async () => {
    const flags = ['-n', namespace, '--create-namespace'];
    await must(helm('install', 'fairlead', chart, '--kube-context', 'west', ...flags));
    await must(
      helm('install', 'fairlead', chart, '--kube-context', 'ours', ...flags, '--set', 'multicluster.enabled=false'),
    );
    await must(
      helm(
        'upgrade',
        'fairlead',
        chart,
        '--kube-context',
        'ours',
        '-n',
        namespace,
        '--set',
        'multicluster.enabled=false,dns.replicas=3',
      ),
    );
    assert.equal(await at('ours', `get deployment fairlead-dns -n ${namespace} -o jsonpath='{.spec.replicas}'`), '3');
    await must(fairlead('install', '--context', 'east', '--parts', 'reaper'));
    assert.match(await at('west', 'get crd -o name'), /clustermembers\.multicluster\.fairlead\.dev/);
    assert.doesNotMatch(await at('ours', `get secrets -n ${namespace} -o name`), /member/);
  });

  test('the clusters join, share a Service, and its name resolves, with the rights of the chart only', async () => {
    for (const id of ['east', 'west', 'ours']) {
      // The endpoints of the test are documentation addresses.
      await must(fairlead('mcs', 'join', id, '--hub', 'west', '--token-duration', '1h'));
      await at(id, 'create namespace shop');
    }
    await startPart('west', 'multicluster', [
      '--leader-elect=false',
      '--source-lease-duration=4s',
      '--bind-address=127.0.0.1',
      '--health-port=0',
    ]);
    for (const id of ['east', 'west', 'ours'])
      await startPart(id, 'reaper', ['--bind-address=127.0.0.1', '--health-port=0']);
    const states = '{range .items[*]}{.status.conditions[?(@.type=="InSync")].status} {.status.version}{"\\n"}{end}';
    await prints('west', `get clustermembers -n ${namespace} -o jsonpath='${states}'`, /^(?:True v1\.\d+\.\S+\n){3}$/);
    const ports = [{ name: 'http', port: 80 }];
    const items = [
      { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec: { ports, clusterIP: 'None' } },
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['192.0.2.7'], conditions: { ready: true } }],
        ports: [{ name: 'http', port: 8080 }],
      },
      { apiVersion: 'multicluster.x-k8s.io/v1beta1', kind: 'ServiceExport', metadata: { name: 'web' } },
    ];
    await at('east', 'apply -n shop -f -', JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    const slices =
      "get endpointslices -n shop -l multicluster.kubernetes.io/source-cluster=east -o jsonpath='{.items[*].endpoints[*].addresses[0]}'";
    for (const id of ['west', 'ours']) await prints(id, slices, /^192\.0\.2\.7$/);
    await prints(
      'east',
      'get serviceexports.multicluster.x-k8s.io web -n shop -o jsonpath=\'{.status.conditions[?(@.type=="Ready")].status}\'',
      /^True$/,
    );
    const port = await freePort();
    await startPart('west', 'dns', [`--listen=127.0.0.1:${port}`, `--health-listen=127.0.0.1:${await freePort()}`]);
    const answer = async (): Promise<string> =>
      (await run('dig', ['@127.0.0.1', '-p', `${port}`, '+short', 'web.shop.svc.clusterset.local'])).out.trim();
    await until('the name resolves', async () => (await answer()) === '192.0.2.7');
    await prints('west', `get clustermember east -n ${namespace} -o jsonpath='{.status.exports}'`, /^\["shop\/web"\]$/);
  });

  test('a cluster that is lost is reported, its endpoints are removed, and return with it', async () => {
    const slices = 'get endpointslices -n shop -l multicluster.kubernetes.io/source-cluster=east -o name';
    const reachable = `get clustermember east -n ${namespace} -o jsonpath='{.status.conditions[?(@.type=="Reachable")].status}'`;
    peers.get('east')?.signal('SIGSTOP');
    try {
      for (const id of ['west', 'ours']) await prints(id, slices, /^$/);
      await prints('west', reachable, /^False$/);
    } finally {
      peers.get('east')?.signal('SIGCONT');
    }
    for (const id of ['west', 'ours']) await prints(id, slices, /endpointslice/);
    await prints('west', reachable, /^True$/);
  });

  test('all leave, everything is uninstalled, and nothing of it remains', async () => {
    const early = await fairlead('uninstall', '--context', 'west');
    assert.match(early.err, /the set still has the members east, ours, west/);
    for (const id of ['east', 'ours', 'west']) {
      assert.match(
        await must(fairlead('mcs', 'leave', id, '--hub', 'west')),
        /the account of the controller there is deleted/,
      );
    }
    await at('east', 'delete namespace shop --wait=false');
    for (const context of ['west', 'ours'])
      await must(helm('uninstall', 'fairlead', '--kube-context', context, '-n', namespace));
    // What Helm keeps: definitions of kinds, and the namespace that it created.
    for (const context of ['west']) await at(context, 'delete crd -l app.kubernetes.io/part-of=fairlead');
    for (const context of ['east', 'ours', 'west']) await must(fairlead('uninstall', '--context', context, '--force'));
    const kinds =
      'deployments,services,serviceaccounts,secrets,roles,rolebindings,poddisruptionbudgets,endpointslices,leases';
    for (const context of ['east', 'west', 'ours']) {
      const left = await at(context, `get ${kinds} -A -o name`);
      assert.doesNotMatch(left, /fairlead-|member-|imported-|derived-/, `${context}: ${left}`);
      const clusterScoped = await at(context, 'get clusterroles,clusterrolebindings -o name');
      // Fairlead's own server has roles with a colon, as Kubernetes' default roles.
      assert.doesNotMatch(clusterScoped, /fairlead-/, context);
      if (context !== 'ours') assert.doesNotMatch(await at(context, 'get crd -o name'), /fairlead|multicluster|about/);
    }
  });
});

/** The objects of a text; Helm prints documents that have only a comment, too. */
const objectsIn = (text: string): readonly Item[] =>
  (loadAll(text) as (Item | null | undefined)[]).filter((item) => item !== null && item !== undefined);

const keyOf = ({ kind, metadata: { name } }: Item): string => `${kind} ${name}`;

/** Without what only a release of Helm has. */
function comparable({ metadata, ...item }: Item): object {
  const {
    'helm.sh/chart': _chart,
    'app.kubernetes.io/managed-by': _by,
    'app.kubernetes.io/version': _version,
    ...labels
  } = metadata.labels ?? {};
  const { 'helm.sh/resource-policy': _policy, ...annotations } = metadata.annotations ?? {};
  return { ...item, metadata: { ...metadata, labels, annotations } };
}
