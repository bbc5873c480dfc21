// Workloads with kubectl: two replicas of `fairlead controllers` and a simulated agent at one server.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { podKind } from '../../src/api/kinds/core/pod/kind.ts';
import type { Pod } from '../../src/api/kinds/core/pod/schema.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { Client } from '../../src/client/client.ts';
import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import type { Fate } from '../../src/controllers/testing/agent.ts';
import { readyNode, startAgent } from '../../src/controllers/testing/agent.ts';
import { until } from '../../src/server/testing/until.ts';
import { run } from '../harness/command.ts';
import { findKubectls } from '../harness/kubectl.ts';
import type { FairleadProcess } from '../harness/process.ts';
import { FairleadServer } from '../harness/server.ts';
import { askHealth, controllersKubeconfig, startControllers } from '../parts/controllers-process.ts';
import type { Desk } from '../parts/typed.ts';
import { typed, typedUntil } from '../parts/typed.ts';

const namespace = 'default';
const election = ['--leader-elect-lease-duration', '3s', '--leader-elect-renew-deadline', '2s'];
const flags = ['--controllers', '*,workloads', ...election, '--leader-elect-retry-period', '500ms'];

/** What the simulated agent does with an image. */
function fateOf({ spec }: Pod): Fate {
  const image = spec.containers?.[0]?.image ?? '';
  if (image.startsWith('broken')) return 'unready';
  if (image.startsWith('fails')) return 'fail';
  return image.startsWith('task') ? 'succeed' : 'ready';
}

const isLeader = async (part: FairleadProcess): Promise<boolean> =>
  /^leader_election_master_status\{name="fairlead-controllers"\} 1$/m.test((await askHealth(part, '/metrics')).text);

describe('workloads with kubectl', () => {
  const stack = new AsyncDisposableStack();
  let client: Client;
  let desk: Desk = { kubectl: '', kubeconfig: '' };
  let replicas: FairleadProcess[] = [];
  const must = (command: string, input = ''): Promise<string> => typed(desk, command, input);
  const prints = (command: string, want: RegExp): Promise<void> => typedUntil(desk, command, want);
  const podsOf = async (labelSelector: string): Promise<readonly Pod[]> =>
    (await client.list(podKind, { namespace, labelSelector })).items;

  before(async () => {
    const server = stack.use(await FairleadServer.start(['--store', 'memory']));
    const [kubectl] = await findKubectls();
    desk = { kubectl: kubectl?.path ?? '', kubeconfig: server.kubeconfig };
    const kubeconfig = await controllersKubeconfig(server.directory);
    client = stack.use(new Client(overHttps(await readKubeconfig({ paths: [server.kubeconfig] }))));
    for (const node of ['n1', 'n2', 'n3']) await readyNode(client, node);
    stack.use(startAgent({ client, fate: fateOf }));
    replicas = [1, 2].map(() => stack.use(startControllers(kubeconfig, flags)));
    await Promise.all(replicas.map((replica) => replica.ready()));
  });
  after(() => stack.disposeAsync());

  test('a rollout, its history and a rollback', async () => {
    await must('create deployment web --image=web:1 --replicas=3');
    assert.match(await must('rollout status deployment web --timeout=60s'), /successfully rolled out/);
    await must('set image deployment/web web=web:2');
    await must('annotate deployment web kubernetes.io/change-cause=second');
    assert.match(await must('rollout status deployment web --timeout=60s'), /successfully rolled out/);
    await prints('rollout history deployment web', /1 +<none>\n2 +second/);
    await must('set env deployment/web MODE=fast');
    assert.match(await must('rollout status deployment web --timeout=60s'), /successfully rolled out/);
    await must('rollout undo deployment web --to-revision=1');
    assert.match(await must('rollout status deployment web --timeout=60s'), /successfully rolled out/);
    await prints(`get deployment web -o jsonpath='{.spec.template.spec.containers[0].image}'`, /^web:1$/);
    await prints('rollout history deployment web', /\n4 /);
    await must('wait --for=condition=Available deployment/web --timeout=30s');
    assert.match(
      await must('describe deployment web'),
      /Replicas: +3 desired \| 3 updated \| 3 total \| 3 available \| 0 unavailable/,
    );
    assert.match(await must('get all'), /deployment\.apps\/web +3\/3 +3 +3/);
  });

  test('a rollout that fails stops, keeps the old Pods, and the status says why', async () => {
    await must(`patch deployment web -p '{"spec":{"progressDeadlineSeconds":2}}'`);
    await must('set image deployment/web web=broken:1');
    const { code, err } = await run(desk.kubectl, [
      '--kubeconfig',
      desk.kubeconfig,
      'rollout',
      'status',
      'deployment',
      'web',
      '--timeout=60s',
    ]);
    assert.equal(code, 1);
    assert.match(err, /error: deployment "web" exceeded its progress deadline/);
    const ready = (await podsOf('app=web')).filter((pod) => fateOf(pod) === 'ready');
    assert.equal(ready.length, 3);
    await must('rollout undo deployment web');
    assert.match(await must('rollout status deployment web --timeout=60s'), /successfully rolled out/);
  });

  test('restart replaces all Pods, and scale goes to 200 and back', async () => {
    const before = new Set((await podsOf('app=web')).map(({ metadata }) => metadata.uid));
    await must('rollout restart deployment web');
    assert.match(await must('rollout status deployment web --timeout=60s'), /successfully rolled out/);
    await until('the old Pods are gone', async () =>
      (await podsOf('app=web')).every(({ metadata }) => !before.has(metadata.uid)),
    );
    for (const count of [200, 3]) {
      await must(`scale deployment web --replicas=${count}`);
      assert.match(await must('rollout status deployment web --timeout=120s'), /successfully rolled out/);
      await until(`${count} Pods`, async () => (await podsOf('app=web')).length === count);
    }
  });

  test('drain evicts as far as the budget allows, and the node returns', async () => {
    await must('scale deployment web --replicas=6');
    await must('rollout status deployment web --timeout=60s');
    await must('create poddisruptionbudget web --selector=app=web --min-available=5');
    await prints(`get pdb web -o jsonpath='{.status.disruptionsAllowed}'`, /^1$/);
    await must('drain n1 --ignore-daemonsets --timeout=120s');
    await until('all Pods are elsewhere', async () => {
      const pods = await podsOf('app=web');
      return (
        pods.length === 6 && pods.every(({ spec, status }) => spec.nodeName !== 'n1' && status.phase === 'Running')
      );
    });
    await must('uncordon n1');
    await must('delete pdb web');
  });

  test('the Pods of a StatefulSet have names in DNS', async () => {
    await must('create service clusterip db --clusterip=None --tcp=5432');
    const labels = { app: 'db' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'db', image: 'db:1' }] } };
    const spec = { serviceName: 'db', replicas: 3, selector: { matchLabels: labels }, template };
    await must(
      'apply -f -',
      JSON.stringify({ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'db' }, spec }),
    );
    assert.match(await must('rollout status statefulset db --timeout=60s'), /3 pods|complete/);
    await until('the hostnames are in the slices', async () => {
      const { items } = await client.list(endpointSliceKind, {
        namespace,
        labelSelector: 'kubernetes.io/service-name=db',
      });
      const names = items.flatMap(({ endpoints }) => (endpoints ?? []).map(({ hostname = '' }) => hostname));
      return names.toSorted((left, right) => (left < right ? -1 : 1)).join() === 'db-0,db-1,db-2';
    });
    await must('set image statefulset/db db=db:2');
    assert.match(await must('rollout status statefulset db --timeout=60s'), /complete/);
    await must('rollout undo statefulset db');
    assert.match(await must('rollout status statefulset db --timeout=60s'), /complete/);
    await prints(`get statefulset db -o jsonpath='{.spec.template.spec.containers[0].image}'`, /^db:1$/);
  });

  test('a DaemonSet runs on a new node', async () => {
    const labels = { app: 'agent' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'agent', image: 'agent:1' }] } };
    const spec = { selector: { matchLabels: labels }, template };
    await must(
      'apply -f -',
      JSON.stringify({ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'agent' }, spec }),
    );
    assert.match(await must('rollout status daemonset agent --timeout=60s'), /successfully rolled out/);
    await readyNode(client, 'n4');
    await prints(`get daemonset agent -o jsonpath='{.status.numberAvailable}'`, /^4$/);
  });

  test('Jobs succeed, fail after their retries, and are created by a CronJob', async () => {
    await must('create job good --image=task:1');
    await must('wait --for=condition=Complete job/good --timeout=30s');
    const spec = {
      backoffLimit: 1,
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'fails:1' }] } },
    };
    await must('apply -f -', JSON.stringify({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'bad' }, spec }));
    await must('wait --for=condition=Failed job/bad --timeout=60s');
    assert.match(
      await must(`get job bad -o jsonpath='{.status.failed} {.status.conditions[1].reason}'`),
      /^2 BackoffLimitExceeded$/,
    );
    await must(`create cronjob tidy --image=task:1 --schedule='* * * * *'`);
    await must('create job now --from=cronjob/tidy');
    await must('wait --for=condition=Complete job/now --timeout=30s');
  });

  test('the next leader completes the rollout of a killed one', async () => {
    await must('set image deployment/web web=web:9');
    const leads = await Promise.all(replicas.map(isLeader));
    const leader = replicas[leads.indexOf(true)];
    assert.ok(leader !== undefined);
    await leader.stop('SIGKILL');
    // The deadline of the rollout may pass before another replica leads, so its status is read at the end.
    await until('six Pods of the new image', async () => {
      const pods = await podsOf('app=web');
      return pods.length === 6 && pods.every(({ spec }) => spec.containers?.[0]?.image === 'web:9');
    });
    await typedUntil(desk, 'rollout status deployment web --watch=false', /successfully rolled out/);
  });
});
