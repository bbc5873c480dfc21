// Pods with a network namespace and a root directory each, on a machine that is a network namespace itself.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { unless } from '../harness/needs.ts';
import { FairleadProcess } from '../harness/process.ts';
import { whyNoNamespaces } from '../proxy/namespaces/cluster.ts';
import { Namespace } from '../proxy/namespaces/namespace.ts';
import { isReady, nodeName, podObject, processContainer, Stand } from './stand.ts';

/** Serves its host name on port 80. */
const server = `require('http').createServer((q, r) => r.end(require('os').hostname() + '\\n')).listen(80)`;
const web = (more: object = {}): object => processContainer('c', [process.execPath, '-e', server], more);
const readiness = { readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1 } };

describe('Pods with a network namespace', { skip: unless(whyNoNamespaces()) }, () => {
  let machine: Namespace;
  let stand: Stand;
  let components: readonly FairleadProcess[] = [];
  before(async () => {
    machine = new Namespace(`fl${process.pid}-pods`);
    machine.run('ip', 'link', 'add', 'outside', 'type', 'veth', 'peer', 'name', 'beyond');
    machine.run('ip', 'address', 'add', '192.0.2.1/24', 'dev', 'outside');
    for (const link of ['outside', 'beyond']) machine.run('ip', 'link', 'set', link, 'up');
    machine.run('ip', 'route', 'add', 'default', 'dev', 'outside');
    const network = ['--pod-network', 'netns', '--pod-cidr', '10.1.0.0/24', '--node-ip', '192.0.2.1'];
    stand = await Stand.start(['--cluster-dns', '192.0.2.1', '--allow-host-path'], {
      network,
      within: machine.within('').slice(0, -1),
      up: ['--service-cluster-ip-range', '10.96.0.0/16@east'],
    });
    const access = ['--kubeconfig', stand.kubeconfig, '--context', 'east'];
    const listen = ['--listen', '192.0.2.1:53'];
    const within = machine.within('').slice(0, -1);
    const proxy = ['--hostname-override', nodeName, '--healthz-bind-address', '127.0.0.1:0'];
    components = [
      new FairleadProcess(['dns', ...access, ...listen], { within }),
      new FairleadProcess(['proxy', ...access, ...proxy], { within }),
    ];
    for (const component of components) await component.ready();
  });
  after(async () => {
    for (const component of components) await component.stop('SIGKILL');
    await stand?.[Symbol.asyncDispose]();
    await machine?.[Symbol.asyncDispose]();
  });

  const exec = (pod: string, ...command: readonly string[]): Promise<string> =>
    stand.must('exec', pod, '--', ...command);

  test('each Pod has an address and a host name, and all listen on the same port', async () => {
    await stand.create(
      podObject('one', { containers: [web(readiness)] }),
      podObject('two', { hostname: 'second', containers: [web(readiness)] }),
    );
    const [one, two] = await Promise.all(['one', 'two'].map((name) => stand.podUntil(name, 'is ready', isReady)));
    assert.match(one?.status.podIP ?? '', /^10\.1\.0\.\d+$/);
    assert.equal(machine.run('curl', '-s', `http://${two?.status.podIP}/`), 'second\n');
    assert.equal(await exec('one', 'curl', '-s', `http://${two?.status.podIP}/`), 'second\n');
    assert.match(await exec('two', 'ip', '-brief', 'address', 'show', 'eth0'), new RegExp(two?.status.podIP ?? '-'));
    assert.equal(await exec('two', 'hostname'), 'second\n');
    assert.match(await exec('two', 'cat', '/etc/hosts'), new RegExp(`^${two?.status.podIP}\tsecond$`, 'm'));
    const node = await stand.must('get', 'node', 'machine-1', '-o', 'jsonpath={.spec.podCIDR}');
    assert.equal(node, '10.1.0.0/24');
  });

  test('programs in a Pod resolve names of Services, and reach cluster IPs, their own Pod too', async () => {
    await stand.create(podObject('web', { containers: [web(readiness)] }, { labels: { app: 'web' } }));
    await stand.must('create', 'service', 'clusterip', 'web', '--tcp=8080:80');
    await stand.podUntil('web', 'is ready', isReady);
    assert.equal(
      await exec('one', 'cat', '/etc/resolv.conf'),
      `${await resolver()}nameserver 192.0.2.1\noptions ndots:5\n`,
    );
    const reach = (from: string, url: string): Promise<unknown> =>
      until(
        `${from} reaches ${url}`,
        async () => (await stand.kubectl('exec', from, '--', 'curl', '-sm2', url)).out === 'web\n',
      );
    await reach('one', 'http://web:8080/');
    await reach('one', 'http://web.default.svc.cluster.local:8080/');
    await reach('web', 'http://web.default:8080/'); // itself
  });

  /** The search domains of the cluster, before those of this machine. */
  async function resolver(): Promise<string> {
    const own = /^search (.*)$/m.exec(await readFile('/etc/resolv.conf', 'utf8'))?.[1];
    const all = [
      'default.svc.cluster.local',
      'svc.cluster.local',
      'cluster.local',
      ...(own === undefined ? [] : [own]),
    ];
    return `search ${all.join(' ')}\n`;
  }

  test('volumes are at their paths, and what a container writes elsewhere is its own', async () => {
    await stand.must('create', 'configmap', 'files', '--from-literal=a.txt=one', '--from-literal=b.txt=b');
    const script = `
      cat /config/a.txt /b.txt; echo; echo shared > /scratch/x; echo own > /etc/own-file; echo $VOLUME_SCRATCH $PWD
      touch /config/no 2> /dev/null || echo read-only; echo bye > /dev/termination-log; exec sleep 1000`;
    const volumeMounts = [
      { name: 'config', mountPath: '/config' },
      { name: 'config', mountPath: '/b.txt', subPath: 'b.txt' },
      { name: 'scratch', mountPath: '/scratch' },
    ];
    await stand.create(
      podObject('volumes', {
        volumes: [
          { name: 'config', configMap: { name: 'files' } },
          { name: 'scratch', emptyDir: {} },
        ],
        containers: [
          processContainer('c', ['sh', '-c', script], { volumeMounts, workingDir: '/new/directory' }),
          processContainer('other', ['sleep', '1000'], { volumeMounts: [{ name: 'scratch', mountPath: '/data' }] }),
        ],
      }),
    );
    await stand.podUntil('volumes', 'is ready', isReady);
    await until(
      'its output',
      async () =>
        (await stand.kubectl('logs', 'volumes', '-c', 'c')).out === 'oneb\n/scratch /new/directory\nread-only\n',
    );
    assert.equal(await stand.must('exec', 'volumes', '-c', 'other', '--', 'cat', '/data/x'), 'shared\n');
    assert.equal((await stand.kubectl('exec', 'volumes', '-c', 'other', '--', 'cat', '/etc/own-file')).code, 1);
    await assert.rejects(readFile('/etc/own-file'), { code: 'ENOENT' });
  });

  test('a container runs as its user, with the groups of the Pod', async () => {
    await stand.create(
      podObject('user', {
        securityContext: { runAsUser: 1234, runAsGroup: 1235, supplementalGroups: [4000], fsGroup: 5000 },
        volumes: [{ name: 'data', emptyDir: {} }],
        containers: [
          processContainer('c', ['sleep', '1000'], { volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
        ],
      }),
    );
    await stand.podUntil('user', 'is ready', isReady);
    assert.equal(await exec('user', 'sh', '-c', 'id -u; id -g; id -G'), '1234\n1235\n1235 4000 5000\n');
    assert.equal(await exec('user', 'sh', '-c', 'echo x > /data/x; stat -c %u:%g /data/x'), '1234:5000\n');
  });

  test('a Pod of the host network has that of the machine', async () => {
    await stand.create(
      podObject('host', { hostNetwork: true, containers: [processContainer('c', ['sleep', '1000'])] }),
    );
    const pod = await stand.podUntil('host', 'is ready', isReady);
    assert.equal(pod.status.podIP, '192.0.2.1');
    assert.match(await exec('host', 'ip', '-brief', 'address'), /192\.0\.2\.1/);
  });

  test('errors of commands are those of container runtimes', async () => {
    const missing = await stand.kubectl('exec', 'one', '--', 'no-such-program');
    assert.match(missing.err, /exec: "no-such-program": executable file not found in \$PATH/);
    assert.equal((await stand.kubectl('exec', 'one', '--', 'sh', '-c', 'exit 3')).code, 3);
    await stand.create(
      podObject('missing', { restartPolicy: 'Never', containers: [processContainer('c', ['/no/program'])] }),
    );
    const { status } = await stand.podUntil('missing', 'has failed', ({ status: { phase } }) => phase === 'Failed');
    assert.match(status.containerStatuses?.[0]?.state.terminated?.message ?? '', /exec: "\/no\/program": no such file/);
  });

  test('Pods keep their namespaces when the agent is killed, and get new ones when those are lost', async () => {
    const address = (await stand.pod('one'))?.status.podIP ?? '';
    const started = async (): Promise<unknown> =>
      (await stand.pod('one'))?.status.containerStatuses?.[0]?.state.running;
    const before = await started();
    await stand.stopAgent('SIGKILL');
    await stand.startAgent();
    assert.equal(await exec('one', 'curl', '-s', `http://${address}/`), 'one\n');
    assert.deepEqual(await started(), before);
    const uid = (await stand.pod('one'))?.metadata.uid ?? '';
    const record = JSON.parse(await readFile(join(stand.state, 'pods', uid, 'record.json'), 'utf8')) as {
      readonly sandbox: { readonly pid: number };
    };
    process.kill(record.sandbox.pid, 'SIGKILL');
    const pod = await stand.podUntil(
      'one',
      'runs again',
      (each) => isReady(each) && each.status.containerStatuses?.[0]?.restartCount === 1,
    );
    assert.equal(pod.status.podIP, address);
    assert.equal(await exec('two', 'curl', '-s', `http://${address}/`), 'one\n');
  });

  test('nothing of a deleted Pod is left', async () => {
    await stand.must('delete', 'pods', '--all', '--grace-period=1');
    await until('directories are removed', async () => (await readdir(join(stand.state, 'pods'))).length === 0);
    await until('links are removed', async () => !machine.run('ip', '-brief', 'link').includes('veth'));
    assert.doesNotMatch(machine.run('ip', '-brief', 'link'), /^fl/m);
  });
});
