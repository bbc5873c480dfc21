// The agent as a node of kube-apiserver, with its Node authorizer and NodeRestriction.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import type { Result } from '../harness/command.ts';
import { run, start } from '../harness/command.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { FairleadProcess } from '../harness/process.ts';
import { findKubeApiserver, KubeApiserver } from '../parts/kube-apiserver.ts';
import { nodeName, podObject, processContainer } from './stand.ts';

const programs = findKubeApiserver();
const skip = programs === undefined && 'kube-apiserver and etcd are not on the PATH, nor in KUBE_APISERVER and ETCD';

describe('the agent at kube-apiserver', { skip }, () => {
  const stack = new AsyncDisposableStack();
  let [kubectl, admin] = ['', ''];
  const call = (args: readonly string[], input = ''): Promise<Result> =>
    run(kubectl, ['--kubeconfig', admin, ...args], { input });
  const must = async (...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await call(args);
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${err}`);
    return out;
  };

  before(async () => {
    const { path } = stack.use(await temporaryDirectory());
    const at = (name: string): string => join(path, name);
    const issue = async (name: string, subject: string, ...more: readonly string[]): Promise<void> => {
      const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', at(`${name}.key`)];
      const args = ['req', '-x509', '-days', '2', '-subj', subject, '-out', at(`${name}.crt`), ...key, ...more];
      const { code, err } = await run('openssl', args);
      assert.equal(code, 0, err);
    };
    const signed = ['-CA', at('ca.crt'), '-CAkey', at('ca.key')];
    await issue('ca', '/CN=authority');
    await issue('server', '/CN=kube-apiserver', ...signed, '-addext', 'subjectAltName=IP:127.0.0.1');
    await issue('client', '/O=system:masters/CN=kube-apiserver', ...signed, '-addext', 'extendedKeyUsage=clientAuth');
    const nodeUser = `node-token,system:node:${nodeName},2,"system:nodes"\n`;
    await writeFile(at('users.csv'), `admin-token,admin,1,"system:masters"\n${nodeUser}`);
    const server = stack.use(
      await KubeApiserver.start(path, programs ?? assert.fail(), {
        'authorization-mode': 'Node,RBAC',
        'enable-admission-plugins': 'NodeRestriction',
        'token-auth-file': at('users.csv'),
        'tls-cert-file': at('server.crt'),
        'tls-private-key-file': at('server.key'),
        'kubelet-client-certificate': at('client.crt'),
        'kubelet-client-key': at('client.key'),
        'kubelet-preferred-address-types': 'InternalIP',
      }),
    );
    const [found] = await findKubectls();
    kubectl = found?.path ?? '';
    admin = await server.kubeconfig('admin');
    await until('the server is ready', async () => (await call(['get', '--raw', '/readyz'])).out === 'ok', 60_000);
    await until(
      'the namespace of Leases',
      async () => (await call(['get', 'namespace', 'kube-node-lease'])).code === 0,
      60_000,
    );
    const ca = (await readFile(at('ca.crt'))).toString('base64');
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'peer',
      clusters: [{ name: 'peer', cluster: { server: server.url, 'certificate-authority-data': ca } }],
      contexts: [{ name: 'peer', context: { cluster: 'peer', user: 'node' } }],
      users: [{ name: 'node', user: { token: 'node-token' } }],
    };
    await writeFile(at('node.kubeconfig'), JSON.stringify(config));
    const own = [
      '--kubeconfig',
      at('node.kubeconfig'),
      '--node-name',
      nodeName,
      '--root-dir',
      at('agent'),
      '--health-port',
      '0',
    ];
    const network = [
      '--pod-network',
      'loopback',
      '--pod-cidr',
      '127.192.240.0/20',
      '--node-ip',
      '127.0.0.1',
      '--listen',
      '127.0.0.1:0',
    ];
    const agent = stack.use(
      new FairleadProcess(['agent', ...own, ...network, ...(process.getuid?.() === 0 ? ['--allow-root'] : [])]),
    );
    await agent.ready();
  });
  after(async () => {
    await call(['delete', 'pods', '--all', '--grace-period=1']);
    await stack.disposeAsync();
  });

  test('registers a node that is ready', async () => {
    await must('wait', 'node', nodeName, '--for=condition=Ready', '--timeout=30s');
    await must('get', 'lease', '--namespace', 'kube-node-lease', nodeName);
  });

  test('runs a Pod, with logs, exec and port-forward', async () => {
    const script = `require('http').createServer((q, r) => r.end('served\\n')).listen(8080, process.env.POD_IP, () => console.log('listening'))`;
    const container = processContainer('c', [process.execPath, '-e', script], {
      readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 },
    });
    const { code, err } = await call(
      ['create', '-f', '-'],
      JSON.stringify(podObject('web', { containers: [container] })),
    );
    assert.equal(code, 0, err);
    await must('wait', 'pod', 'web', '--for=condition=Ready', '--timeout=30s');
    assert.equal(await must('logs', 'web'), 'listening\n');
    assert.equal(await must('exec', 'web', '--', 'sh', '-c', 'echo $POD_NAME'), 'web\n');
    assert.equal((await call(['exec', 'web', '--', 'sh', '-c', 'exit 3'])).code, 3);
    using forward = start(kubectl, ['--kubeconfig', admin, 'port-forward', 'pod/web', ':8080']);
    await forward.prints(/Forwarding from 127\.0\.0\.1:\d+/);
    const port = /127\.0\.0\.1:(\d+)/.exec(forward.printed)?.[1];
    assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'served\n');
  });

  test('ends the Pod when it is deleted', async () => {
    await must('delete', 'pod', 'web', '--timeout=30s');
    assert.equal((await call(['get', 'pod', 'web'])).code, 1);
  });
});
