// kube-apiserver and Fairlead's server in one set, with the roles and definitions of the examples.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { run } from '../harness/command.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { FairleadProcess } from '../harness/process.ts';
import { FairleadServer } from '../harness/server.ts';
import { parseWords } from '../harness/transcript.ts';
import { findKubeApiserver, KubeApiserver } from '../parts/kube-apiserver.ts';
import type { Desk } from '../parts/typed.ts';
import { typed, typedUntil } from '../parts/typed.ts';

const programs = findKubeApiserver();
const skip = programs === undefined && 'kube-apiserver and etcd are not on the PATH, nor in KUBE_APISERVER and ETCD';

describe('a set of Kubernetes and Fairlead', { skip }, () => {
  const stack = new AsyncDisposableStack();
  const kubeconfigs = new Map<string, string>();
  let kubectl = '';
  const deskAt = (cluster: string): Desk => ({ kubectl, kubeconfig: kubeconfigs.get(cluster) ?? '' });
  const must = (cluster: string, command: string): Promise<string> => typed(deskAt(cluster), command);
  const prints = (cluster: string, command: string, want: RegExp): Promise<void> =>
    typedUntil(deskAt(cluster), command, want);

  const eventually = async <T>(ask: () => Promise<T>, isIt: (answer: T) => boolean): Promise<T> => {
    for (const end = performance.now() + 10_000; ; await delay(100)) {
      const answer = await ask();
      if (isIt(answer) || performance.now() > end) return answer;
    }
  };

  before(async () => {
    const { path } = stack.use(await temporaryDirectory());
    kubectl = (await findKubectls())[0]?.path ?? '';
    const peer = stack.use(await KubeApiserver.start(path, programs ?? assert.fail()));
    kubeconfigs.set('kubernetes', await peer.kubeconfig('admin'));
    const ours = stack.use(await FairleadServer.start(['--store', 'memory']));
    kubeconfigs.set('fairlead', ours.kubeconfig);
    await prints('kubernetes', 'get --raw /readyz', /^ok$/);
    await must('kubernetes', 'apply -f examples/multicluster/definitions.yaml -f examples/rbac/multicluster.yaml');
    await must('kubernetes', 'wait --for=condition=Established crd --all --timeout=30s');
    const token = await must('kubernetes', 'create token fairlead-multicluster --namespace kube-system');
    const members = [
      { id: 'kubernetes', kubeconfig: await peer.kubeconfig('multicluster', token.trim()) },
      {
        id: 'fairlead',
        kubeconfig: ours.kubeconfig,
        superclusterCIDRs: ['241.0.0.0/16'],
        endpointCIDRs: ['0.0.0.0/0'],
      },
    ];
    const file = join(path, 'members.yaml');
    await writeFile(file, JSON.stringify({ members }));
    const flags = ['--members', file, '--kubeconfig', ours.kubeconfig, '--health-port', '0'];
    flags.push('--webhook-listen', '127.0.0.1:0');
    await stack.use(new FairleadProcess(['multicluster', ...flags])).ready();
    for (const cluster of kubeconfigs.keys()) await must(cluster, 'create namespace shop');
  });
  after(() => stack.disposeAsync());

  const manifest = (address: string): string =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'List',
      items: [
        { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec: { ports: [{ name: 'http', port: 80 }] } },
        {
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
          addressType: 'IPv4',
          endpoints: [{ addresses: [address], conditions: { ready: true } }],
          ports: [{ name: 'http', port: 8080 }],
        },
        { apiVersion: 'multicluster.x-k8s.io/v1beta1', kind: 'ServiceExport', metadata: { name: 'web' } },
        { apiVersion: 'multicluster.k8s.io/v1alpha1', kind: 'ServiceExport', metadata: { name: 'web' } },
      ],
    });

  test('MCS-9 both clusters import the exports of both, and writes end', async () => {
    for (const [cluster, address] of [
      ['kubernetes', '10.1.0.1'],
      ['fairlead', '10.2.0.1'],
    ] as const) {
      const args = ['--kubeconfig', kubeconfigs.get(cluster) ?? '', '--namespace', 'shop', 'apply', '-f', '-'];
      const { code, err } = await run(kubectl, args, { input: manifest(address) });
      assert.equal(code, 0, err);
    }
    const conditions = "-o jsonpath='{range .status.conditions[*]}{.type}={.status} {end}'";
    for (const cluster of kubeconfigs.keys()) {
      const exported = `get -n shop serviceexports.multicluster.k8s.io web ${conditions}`;
      await prints(cluster, exported, /Initialized=True Exported=True Conflict=False/);
      const ready = `get -n shop serviceexports.multicluster.x-k8s.io web ${conditions}`;
      await prints(cluster, ready, /Valid=True Ready=True Conflict=False/);
      const slices =
        "get -n shop endpointslices -l multicluster.kubernetes.io/service-name=web -o jsonpath='{.items[*].endpoints[*].addresses[0]}'";
      await prints(cluster, slices, /(?=.*10\.1\.0\.1)(?=.*10\.2\.0\.1)/);
    }
    await prints('kubernetes', "get -n shop importedservices web -o jsonpath='{.spec.ip}'", /^10\.\d+\.\d+\.\d+$/);
    await prints('fairlead', "get -n shop importedservices web -o jsonpath='{.spec.ip}'", /^241\./);
    const revisions = async (): Promise<string> =>
      must(
        'kubernetes',
        "get -n shop services,endpointslices,serviceimports,importedservices,serviceexports.multicluster.k8s.io,serviceexports.multicluster.x-k8s.io -o jsonpath='{.items[*].metadata.resourceVersion}'",
      );
    await delay(1000);
    const before = await revisions();
    await delay(2000);
    assert.equal(await revisions(), before, 'nothing is written any more');
  });

  test('a dry run of an export returns its effects as warnings, on both', async () => {
    const manifests = [
      'multicluster.x-k8s.io/v1beta1',
      'multicluster.x-k8s.io/v1alpha1',
      'multicluster.k8s.io/v1alpha1',
    ].map((apiVersion) => JSON.stringify({ apiVersion, kind: 'ServiceExport', metadata: { name: 'api' } }));
    for (const cluster of kubeconfigs.keys()) {
      await prints(cluster, 'get validatingwebhookconfigurations -o name', /fairlead-multicluster/);
      await must(cluster, 'create service clusterip api --tcp=80 -n shop');
      const args = [
        '--kubeconfig',
        kubeconfigs.get(cluster) ?? '',
        ...parseWords('-n shop apply --dry-run=server -f -'),
      ];
      for (const input of manifests) {
        const { err } = await eventually(
          () => run(kubectl, args, { input }),
          ({ err: text }) => /plan: imported/.test(text),
        );
        assert.match(err, /^Warning: plan: imported with an address: 80 80\/TCP from (kubernetes|fairlead)$/m);
        assert.match(err, /^Warning: plan: in fairlead: 241\.\d+\.\d+\.\d+, slices: 0, objects: 2 created$/m);
        assert.match(
          err,
          /^Warning: plan: in kubernetes: allocated when written, slices: 0, objects: 3 created, 1 changed$/m,
        );
      }
    }
  });

  test('MCS-104 the import is deleted with the last export', async () => {
    for (const cluster of kubeconfigs.keys()) {
      await must(
        cluster,
        'delete -n shop serviceexports.multicluster.k8s.io,serviceexports.multicluster.x-k8s.io --all',
      );
    }
    for (const cluster of kubeconfigs.keys()) {
      await prints(cluster, 'get -n shop serviceimports,importedservices -o name', /^$/);
    }
  });
});
