// `fairlead controllers` with kube-apiserver and the roles of the example.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import type { FairleadProcess } from '../harness/process.ts';
import { askHealth, startControllers } from './controllers-process.ts';
import { findKubeApiserver, KubeApiserver } from './kube-apiserver.ts';
import type { Desk } from './typed.ts';
import { typed, typedUntil } from './typed.ts';

const programs = findKubeApiserver();
const skip = programs === undefined && 'kube-apiserver and etcd are not on the PATH, nor in KUBE_APISERVER and ETCD';

describe('the controllers at Kubernetes', { skip }, () => {
  const stack = new AsyncDisposableStack();
  let part: FairleadProcess;
  let desk: Desk = { kubectl: '', kubeconfig: '' };
  const must = (command: string): Promise<string> => typed(desk, command);
  const prints = (command: string, want: RegExp): Promise<void> => typedUntil(desk, command, want);

  before(async () => {
    const { path } = stack.use(await temporaryDirectory());
    const [kubectl] = await findKubectls();
    const server = stack.use(await KubeApiserver.start(path, programs ?? assert.fail()));
    desk = { kubectl: kubectl?.path ?? '', kubeconfig: await server.kubeconfig('admin') };
    await prints('get --raw /readyz', /^ok$/);
    await must(`apply -f ${join('examples', 'rbac', 'controllers.yaml')}`);
    const token = await must('create token fairlead-controllers --namespace kube-system');
    part = stack.use(startControllers(await server.kubeconfig('controllers', token.trim())));
    await part.ready();
  });
  after(() => stack.disposeAsync());

  test('updates slices and Endpoints with the Pods', async () => {
    await must('apply -f examples/tour/pods.yaml');
    const ready = '{"type":"Ready","status":"True"}';
    const status = `{"phase":"Running","podIP":"192.0.2.10","podIPs":[{"ip":"192.0.2.10"}],"conditions":[${ready}]}`;
    await must(`patch pod web-1 --subresource=status --type=merge -p '{"status":${status}}'`);
    const slices = 'get endpointslices -l kubernetes.io/service-name=web -o';
    await prints(`${slices} jsonpath='{.items[*].endpoints[*].conditions.ready}'`, /^true$/);
    await prints(`${slices} jsonpath='{.items[*].endpoints[*].addresses[*]}'`, /^192\.0\.2\.10$/);
    await prints(`get endpoints web -o jsonpath='{.subsets[*].addresses[*].ip}'`, /^192\.0\.2\.10$/);
  });

  test('deletes the dependents of a Service, in the background and in the foreground', async () => {
    await must('delete service web');
    await prints('get endpointslices -l kubernetes.io/service-name=web -o name', /^$/);
    await must('create service clusterip first --tcp=80');
    await prints('get endpointslices -l kubernetes.io/service-name=first -o name', /^endpointslice/);
    await must('delete service first --cascade=foreground');
    await prints('get endpointslices -l kubernetes.io/service-name=first -o name', /^$/);
  });

  test('the roles of the example are sufficient', async () => {
    const { text } = await askHealth(part, '/metrics');
    assert.match(text, /^rest_client_requests_total\{code="201"/m);
    assert.doesNotMatch(text, /^rest_client_requests_total\{code="40[13]"/m);
    assert.deepEqual(await askHealth(part, '/readyz'), { status: 200, text: 'ok' });
    assert.doesNotMatch(part.err, /forbidden/i);
    await part.stop('SIGTERM');
  });
});
