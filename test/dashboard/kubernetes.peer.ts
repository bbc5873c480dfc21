// `fairlead dashboard` and `fairlead status` with kube-apiserver and the role of the example.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { FairleadProcess } from '../harness/process.ts';
import { findKubeApiserver, KubeApiserver } from '../parts/kube-apiserver.ts';
import { typed, typedUntil } from '../parts/typed.ts';
import { withoutChromium } from './browser.ts';
import { signInWithTokens } from './tokens.ts';

const programs = findKubeApiserver();
const skip =
  programs === undefined
    ? 'kube-apiserver and etcd are not on the PATH, nor in KUBE_APISERVER and ETCD'
    : withoutChromium;

test('shows Kubernetes, with the rights of the example and of the people who sign in', { skip }, async () => {
  await using directory = await temporaryDirectory();
  const { path } = directory;
  const [kubectl] = await findKubectls();
  await using server = await KubeApiserver.start(path, programs ?? assert.fail());
  const desk = { kubectl: kubectl?.path ?? '', kubeconfig: await server.kubeconfig('admin') };
  await typedUntil(desk, 'get --raw /readyz', /^ok$/);
  await typed(desk, 'apply -f examples/rbac/dashboard.yaml');
  const token = await typed(desk, 'create token fairlead-dashboard --namespace kube-system');
  const dashboardKubeconfig = await server.kubeconfig('dashboard', token.trim());
  await signInWithTokens({ ...desk, directory: path, dashboardKubeconfig, cluster: 'peer' });

  await using status = new FairleadProcess(['status', '--kubeconfig', dashboardKubeconfig]);
  assert.equal(await status.ended(), 0, status.err);
  assert.match(status.out, /^peer +ok +v1\.\d+/m);
  assert.match(status.out, /^warning +\S+ +shop\/shop-web +NoEndpoints /m);
});
