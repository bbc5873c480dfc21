// Workloads as processes of a machine: `fairlead up`, a second agent, kubectl, and a client that sends requests all the time.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import type { Result } from '../harness/command.ts';
import { start } from '../harness/command.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { unless, unlessInstalled } from '../harness/needs.ts';
import { giveToNobody, NobodysNetwork, whyNotNobody } from '../harness/nobody.ts';
import { FairleadProcess, root } from '../harness/process.ts';
import { parseWords } from '../harness/transcript.ts';

const skip = unless(whyNotNobody()) || unlessInstalled('dig');
const program = (name: string): string => join(import.meta.dirname, name);
const second = 'second';

/** A container of a web server. It serves on for a second after its Pod is deleted: until then proxies send it connections. */
const webContainer = (version: string): object => ({
  name: 'web',
  image: 'process',
  command: [process.execPath, program('web-server.ts'), version, '$(POD_IP)'],
  readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
  lifecycle: { preStop: { sleep: { seconds: 1 } } },
});

const sleeper = (name: string): object => ({ name, image: 'process', command: ['sleep', '1000'] });

/** A workload with a Pod template. */
const workload = (kind: string, name: string, container: object, spec: object = {}): object => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { terminationGracePeriodSeconds: 10, containers: [container] },
    },
    ...spec,
  },
});

const service = (name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: name }, ...spec },
});

describe('workloads on a machine', { skip }, () => {
  const stack = new AsyncDisposableStack();
  let network: NobodysNetwork;
  let fairlead: Fairlead;
  let directory = '';
  let kubectlPath = '';

  const kubectl = (command: string, input = ''): Promise<Result> =>
    network.run([kubectlPath, '--kubeconfig', fairlead.kubeconfig, ...parseWords(command)], { input });
  async function must(command: string, input?: object): Promise<string> {
    const { code, out, err } = await kubectl(command, input === undefined ? '' : JSON.stringify(input));
    assert.equal(code, 0, `${command}: ${err}`);
    return out;
  }
  const prints = (command: string, want: RegExp): Promise<unknown> =>
    until(`${command} prints ${String(want)}`, async () => want.test((await kubectl(command)).out), 60_000);
  const apply = (...items: readonly object[]): Promise<string> =>
    must('apply -f -', { apiVersion: 'v1', kind: 'List', items });
  const rolledOut = (what: string): Promise<string> => must(`rollout status ${what} --timeout=50s`);
  const nodesOf = async (app: string): Promise<readonly string[]> =>
    (await must(`get pods -l app=${app} -o jsonpath='{.items[*].spec.nodeName}'`)).split(' ').filter(Boolean);

  /** Sends requests to the cluster IP while `run` runs; none may fail. Returns how often each version answered. */
  async function underLoad(run: () => Promise<void>): Promise<Readonly<Record<string, number>>> {
    const address = await must(`get service web -o jsonpath='{.spec.clusterIP}'`);
    const [file, ...args] = [...network.within, process.execPath, program('load.ts'), `http://${address}:8000/`, '4'];
    using load = start(file, args, { timeoutMs: 240_000 });
    await load.prints(/started/);
    await run();
    process.kill(load.pid, 'SIGTERM');
    const { out } = await load.ended;
    const { failures, answers } = JSON.parse(out.split('\n')[1] ?? '') as {
      readonly failures: readonly string[];
      readonly answers: Readonly<Record<string, number>>;
    };
    assert.deepEqual(failures, []);
    return answers;
  }

  before(async () => {
    directory = stack.use(await temporaryDirectory()).path;
    await giveToNobody(directory);
    network = stack.use(new NobodysNetwork());
    [kubectlPath = ''] = (await findKubectls()).map(({ path }) => path);
    const flags = ['up', '--cluster', 'east', '--store', 'memory'];
    fairlead = stack.use(await startFairlead(join(directory, 'data'), flags, { within: network.within }));
    await apply(
      service('web', { ports: [{ port: 8000, targetPort: 8080 }] }),
      workload('Deployment', 'web', webContainer('v1'), { replicas: 3, progressDeadlineSeconds: 20 }),
    );
    await rolledOut('deployment web');
  });
  after(() => stack.disposeAsync());

  test('a rollout, one that fails, and a rollback lose no request', async () => {
    const patch = (container: object): string =>
      JSON.stringify({ spec: { template: { spec: { containers: [container] } } } });
    const answers = await underLoad(async () => {
      await must(`patch deployment web -p '${patch(webContainer('v2'))}'`);
      assert.match(await rolledOut('deployment web'), /successfully rolled out/);
      await must(`patch deployment web -p '{"spec":{"progressDeadlineSeconds":2}}'`);
      await must('set image deployment/web web=example.org/web:3');
      const { code, err } = await kubectl('rollout status deployment web --timeout=50s');
      assert.equal(code, 1);
      assert.match(err, /error: deployment "web" exceeded its progress deadline/);
      await prints('get pods -l app=web', /0\/1 +(?:ErrImagePull|ImagePullBackOff)/);
      await prints('get events --field-selector reason=ImageNotMapped', /example\.org\/web:3/);
      await must(`patch deployment web -p '{"spec":{"progressDeadlineSeconds":60}}'`);
      for (const to of ['', '--to-revision=1']) {
        await must(`rollout undo deployment web ${to}`);
        assert.match(await rolledOut('deployment web'), /successfully rolled out/);
      }
    });
    assert.deepEqual(Object.keys(answers).toSorted(), ['v1', 'v2']);
    await prints('get pods -l app=web', /^NAME .*(?:\nweb-\S+ +1\/1 +Running .*){3}\n$/);
    assert.match(await must('get all'), /deployment\.apps\/web +3\/3 +3 +3 /);
  });

  test('a StatefulSet keeps the names of its Pods, and DNS answers them', async () => {
    const { clusters } = JSON.parse(await readFile(join(fairlead.directory, 'state.json'), 'utf8')) as {
      clusters: { dns: { address: string; port: number } }[];
    };
    const [dns] = clusters.map((cluster) => cluster.dns);
    const dig = ['dig', `@${dns?.address}`, '-p', String(dns?.port), '+short'];
    const isResolved = (name: string): Promise<unknown> =>
      until(`DNS answers the address of ${name}`, async () => {
        const { out: address } = await kubectl(`get pod ${name} -o jsonpath='{.status.podIP}'`);
        const { out } = await network.run([...dig, `${name}.db.default.svc.cluster.local`]);
        return address !== '' && out === `${address}\n`;
      });
    await apply(
      service('db', { clusterIP: 'None', ports: [{ port: 5432 }] }),
      workload('StatefulSet', 'db', sleeper('db'), { serviceName: 'db', replicas: 2 }),
    );
    await rolledOut('statefulset db');
    for (const name of ['db-0', 'db-1']) await isResolved(name);
    const uid = await must(`get pod db-0 -o jsonpath='{.metadata.uid}'`);
    await must('delete pod db-0 --now');
    await until('another Pod has the name', async () => {
      const { out } = await kubectl(`get pod db-0 -o jsonpath='{.metadata.uid}'`);
      return out !== '' && out !== uid;
    });
    await isResolved('db-0');
    await must('rollout restart statefulset db');
    await rolledOut('statefulset db');
    for (const name of ['db-0', 'db-1']) await isResolved(name);
    await must('delete statefulset db --now');
  });

  test('a Job succeeds after a retry', async () => {
    const again = join(directory, 'again');
    const script = `test -e ${again} || { touch ${again}; exit 1; }`;
    const container = { name: 'task', image: 'process', command: ['sh', '-c', script] };
    const template = { spec: { restartPolicy: 'Never', containers: [container] } };
    await apply({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'task' },
      spec: { backoffLimit: 2, template },
    });
    await must('wait --for=condition=Complete job/task --timeout=50s');
    await prints(`get job task -o jsonpath='{.status.failed} {.status.succeeded}'`, /^1 1$/);
    await prints('get pods -l job-name=task', /Error[^]*Completed|Completed[^]*Error/);
  });

  test('a new node runs DaemonSets, is drained as far as the budget allows without a lost request, and returns', async () => {
    await apply(workload('DaemonSet', 'each', sleeper('each')));
    await rolledOut('daemonset each');
    const config = join(directory, 'node.kubeconfig');
    const data = ['--data-dir', fairlead.directory];
    await using user = new FairleadProcess(['user', 'add', second, '--node', '-o', config, ...data], {
      within: network.within,
      cwd: root,
    });
    assert.equal(await user.ended(), 0, user.err);
    const own = ['agent', '--kubeconfig', config, '--node-name', second, '--root-dir', join(directory, second)];
    const pods = ['--pod-network', 'loopback', '--pod-cidr', '127.192.128.0/20', '--node-ip', '127.0.0.1'];
    await using agent = new FairleadProcess([...own, ...pods, '--listen', '127.0.0.1:0', '--health-port', '0'], {
      within: network.within,
    });
    await agent.ready();
    await prints(`get daemonset each -o jsonpath='{.status.numberReady}'`, /^2$/);

    await must('scale deployment web --replicas=6');
    await rolledOut('deployment web');
    assert.ok((await nodesOf('web')).includes(second), 'Pods are on both nodes');
    await must('create poddisruptionbudget web --selector=app=web --min-available=5');
    await prints(`get pdb web -o jsonpath='{.status.disruptionsAllowed}'`, /^1$/);
    let fewest = 6;
    await underLoad(async () => {
      const drained = must(`drain ${second} --ignore-daemonsets --timeout=55s`);
      let isDone = false;
      const watched = (async (): Promise<void> => {
        while (!isDone) {
          const { out } = await kubectl(`get deployment web -o jsonpath='{.status.availableReplicas}'`);
          fewest = Math.min(fewest, Number(out));
        }
      })();
      await drained.finally(() => (isDone = true));
      await watched;
      await prints(`get deployment web -o jsonpath='{.status.availableReplicas}'`, /^6$/);
    });
    assert.ok(fewest >= 5, `${fewest} Pods were available`);
    assert.ok(!(await nodesOf('web')).includes(second), 'no Pod of the Deployment is on the drained node');
    assert.ok((await nodesOf('each')).includes(second), 'the DaemonSet stays');
    await must(`uncordon ${second}`);
    await must('scale deployment web --replicas=10');
    await rolledOut('deployment web');
    assert.ok((await nodesOf('web')).includes(second), 'the node takes Pods again');
    await must('delete deployment,daemonset,job --all');
    await prints('get pods', /^$/);
  });
});
