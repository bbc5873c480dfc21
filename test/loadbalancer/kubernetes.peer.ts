// Two replicas of `fairlead loadbalancer` with kube-apiserver and the roles of the example.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { FairleadProcess } from '../harness/process.ts';
import { askHealth } from '../parts/controllers-process.ts';
import { findKubeApiserver, KubeApiserver } from '../parts/kube-apiserver.ts';
import type { Desk } from '../parts/typed.ts';
import { typed, typedUntil } from '../parts/typed.ts';

const programs = findKubeApiserver();
const skip = programs === undefined && 'kube-apiserver and etcd are not on the PATH, nor in KUBE_APISERVER and ETCD';
const election = ['--leader-elect-lease-duration=3s', '--leader-elect-renew-deadline=2s'];
const flags = ['--pool', 'lab=192.0.2.10-192.0.2.11', '--leader-elect-retry-period=500ms', ...election];

describe('load balancers at Kubernetes', { skip }, () => {
  const stack = new AsyncDisposableStack();
  let replicas: FairleadProcess[] = [];
  let desk: Desk = { kubectl: '', kubeconfig: '' };
  const must = (command: string, input?: string): Promise<string> => typed(desk, command, input);
  const prints = (command: string, want: RegExp): Promise<void> => typedUntil(desk, command, want);
  const isLeader = async (part: FairleadProcess): Promise<boolean> =>
    /^leader_election_master_status\{name="fairlead-loadbalancer"\} 1$/m.test((await askHealth(part, '/metrics')).text);

  before(async () => {
    const { path } = stack.use(await temporaryDirectory());
    const [kubectl] = await findKubectls();
    const server = stack.use(await KubeApiserver.start(path, programs ?? assert.fail()));
    desk = { kubectl: kubectl?.path ?? '', kubeconfig: await server.kubeconfig('admin') };
    await prints('get --raw /readyz', /^ok$/);
    await must(`apply -f ${join('examples', 'rbac', 'loadbalancer.yaml')}`);
    const token = await must('create token fairlead-loadbalancer --namespace kube-system');
    const kubeconfig = await server.kubeconfig('loadbalancer', token.trim());
    const args = ['loadbalancer', '--kubeconfig', kubeconfig, '--health-port', '0', ...flags];
    replicas = [1, 2].map(() => stack.use(new FairleadProcess(args)));
    await Promise.all(replicas.map((replica) => replica.ready()));
  });
  after(() => stack.disposeAsync());

  const entry = (name: string, path: string): string =>
    `get service ${name} -o jsonpath='{.status.loadBalancer.ingress[0].${path}}'`;

  test('LB-1 both protocols on one port have an address, and every port has a status', async () => {
    await must('apply -f examples/loadbalancer/dns.yaml');
    await prints(entry('dns', 'ip'), /^192\.0\.2\.10$/);
    await prints(entry('dns', 'ports[*].protocol'), /^UDP TCP$/);
  });

  test('LB-3 Kubernetes accepts the port status of a Service without an address', async () => {
    const annotations = { 'loadbalancer.fairlead.dev/addresses': '198.51.100.1' };
    const lost = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'lost', annotations } };
    await must('create -f -', JSON.stringify({ ...lost, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } }));
    await prints(entry('lost', 'ports[0].error'), /^fairlead\.dev\/AddressUnknown$/);
    await prints(`get service lost`, / <pending> /);
    await prints(`get service lost -o jsonpath='{.status.conditions[0].type}'`, /^LoadBalancerPortsError$/);
    await must('delete service lost');
    await prints('get service lost --ignore-not-found', /^$/);
  });

  test('after the leader is killed, the other replica takes over without unnecessary changes', async () => {
    const leads = await Promise.all(replicas.map(isLeader));
    assert.equal(leads.filter((does) => does).length, 1);
    const revision = await must(`get service dns -o jsonpath='{.metadata.resourceVersion}'`);
    const [first, second] = leads[0] === true ? replicas : replicas.toReversed();
    assert.ok(first !== undefined && second !== undefined);
    await first.stop('SIGKILL');
    await must('create service loadbalancer next --tcp=80');
    await prints(entry('next', 'ip'), /^192\.0\.2\.11$/);
    assert.equal(await must(`get service dns -o jsonpath='{.metadata.resourceVersion}'`), revision);
    await must('delete service dns next');
    await prints('get services -o name', /^service\/kubernetes\n$/);
    replicas = [second];
  });

  test('the roles of the example are sufficient', async () => {
    const [part] = replicas;
    assert.ok(part);
    const { text } = await askHealth(part, '/metrics');
    assert.doesNotMatch(text, /^rest_client_requests_total\{code="40[13]"/m);
    assert.doesNotMatch(part.err, /forbidden/i);
    await part.stop('SIGTERM');
  });
});
