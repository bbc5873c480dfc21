// Connections to addresses of Services of `fairlead up` by curl, without root.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { ask, udpClient } from '../../src/proxy/userspace/testing/echo.ts';
import { run } from '../harness/command.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { unlessInstalled } from '../harness/needs.ts';

/** A Pod that exists only in the API: its address is that of a listener of the test. */
const pod = (app: string, ip: string, name = `${app}-${ip.replaceAll('.', '-')}`): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app } },
  spec: { containers: [{ name: 'c', image: 'example.org/c' }] },
  status: { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions: [{ type: 'Ready', status: 'True' }] },
});

const service = (name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: name }, ...spec },
});

const skip = unlessInstalled('curl');
describe('connections through fairlead up', { skip }, () => {
  const stack = new AsyncDisposableStack();
  let fairlead: Fairlead;
  let kubectl = '';

  before(async () => {
    const directory = stack.use(await temporaryDirectory());
    kubectl = (await findKubectls())[0]?.path ?? '';
    const parts = 'server,controllers,dns,proxy,multicluster';
    fairlead = stack.use(
      await startFairlead(directory.path, ['up', '--store', 'memory', '--parts', parts, '--log-level', 'silent']),
    );
  });
  after(() => stack.disposeAsync());

  /** Runs kubectl in a cluster and returns its output. */
  const k = async (cluster: string, args: readonly string[], input?: unknown): Promise<string> => {
    const env = { KUBECONFIG: fairlead.kubeconfig };
    const given = input === undefined ? {} : { input: JSON.stringify(input) };
    const { out, err, code } = await run(kubectl, ['--context', cluster, ...args], { env, ...given });
    assert.equal(code, 0, err);
    return out;
  };
  const create = async (cluster: string, ...objects: readonly object[]): Promise<void> => {
    await k(cluster, ['create', '-f', '-'], { apiVersion: 'v1', kind: 'List', items: objects });
    for (const object of objects) {
      if (!('status' in object)) continue;
      const { metadata, status } = object as { metadata: { name: string }; status: object };
      const patch = ['patch', 'pod', metadata.name, '--subresource=status', '--type=merge', '-p'];
      await k(cluster, [...patch, JSON.stringify({ status })]);
    }
  };
  const clusterIp = (cluster: string, name: string): Promise<string> =>
    k(cluster, ['get', 'service', name, '-o', 'jsonpath={.spec.clusterIP}']);

  /** A web server at the address of a Pod that responds with its name. */
  async function web(address: string, name: string): Promise<void> {
    const server = createHttpServer((_, response) => response.end(name)).listen(8080, address);
    await once(server, 'listening');
    stack.defer(() => {
      server.closeAllConnections();
      server.close();
    });
  }
  const curl = async (url: string): Promise<string> => {
    const { out, code } = await run('curl', ['-sS', '--max-time', '3', '--noproxy', '*', url]);
    return code === 0 ? out : `curl ${code}`;
  };

  test('a cluster IP answers, follows its Pods, and refuses connections without any', async () => {
    await web('127.192.10.1', 'one');
    await web('127.192.10.2', 'two');
    await create('east', service('web', { ports: [{ port: 8000, targetPort: 8080 }] }));
    const url = `http://${await clusterIp('east', 'web')}:8000/`;
    await until('the connection is refused', async () => (await curl(url)) === 'curl 7');
    await create('east', pod('web', '127.192.10.1'));
    await until('the Service answers', async () => (await curl(url)) === 'one');
    await create('east', pod('web', '127.192.10.2'));
    await k('east', ['delete', 'pod', 'web-127-192-10-1', '--wait=false']);
    await until('the other Pod answers', async () => (await curl(url)) === 'two');
    for (let count = 0; count < 5; count++) assert.equal(await curl(url), 'two');
    await k('east', ['delete', 'service', 'web']);
    await until('the connection is refused again', async () => (await curl(url)) === 'curl 7');
  });

  test('a port that cannot be bound is reported by an Event with the remedy, and routed once it can be', async () => {
    await web('127.192.16.1', 'late');
    const holder = createServer().listen(8000, '127.64.16.16');
    await once(holder, 'listening');
    const ports = [
      { name: 'web', port: 8000, targetPort: 8080 },
      { name: 'signal', port: 2905, protocol: 'SCTP' },
    ];
    await create('east', service('late', { clusterIP: '127.64.16.16', ports }), pod('late', '127.192.16.1'));
    const messages = ['get', 'events', '--field-selector', 'involvedObject.name=late,reason=NotServed,type=Warning'];
    await until('both Events are recorded', async () => {
      const printed = await k('east', [...messages, '-o', 'jsonpath={.items[*].message}']);
      return (
        printed.includes('127.64.16.16:8000/TCP: another program has that port: stop it') &&
        printed.includes('127.64.16.16:2905/SCTP: listeners carry TCP and UDP; use nftables')
      );
    });
    holder.close();
    await until('the Service answers', async () => (await curl('http://127.64.16.16:8000/')) === 'late');
  });

  test('node ports have an address per cluster', async () => {
    await web('127.193.10.1', 'west');
    const ports = [{ port: 8000, targetPort: 8080, nodePort: 31080 }];
    await create('west', service('ported', { type: 'NodePort', ports }), pod('ported', '127.193.10.1'));
    await until('the node port answers', async () => (await curl('http://127.0.0.2:31080/')) === 'west');
    assert.equal(await curl('http://127.0.0.1:31080/'), 'curl 7');
  });

  test('external IPs and load balancer addresses are routed, closed ports are not', async () => {
    await web('127.192.11.1', 'shown');
    const ports = [
      { name: 'a', port: 8000, targetPort: 8080 },
      { name: 'b', port: 8001, targetPort: 8080 },
    ];
    const spec = { type: 'LoadBalancer', ports, loadBalancerSourceRanges: ['127.0.0.0/8'] };
    await create('east', service('shown', spec), pod('shown', '127.192.11.1'));
    const ip = '127.192.200.7';
    const ingress = [
      {
        ip,
        ports: [
          { port: 8000, protocol: 'TCP' },
          { port: 8001, protocol: 'TCP', error: 'NotToday' },
        ],
      },
    ];
    const status = JSON.stringify({ status: { loadBalancer: { ingress } } });
    await k('east', ['patch', 'service', 'shown', '--subresource=status', '--type=merge', '-p', status]);
    await until('the address answers', async () => (await curl(`http://${ip}:8000/`)) === 'shown');
    assert.equal(await curl(`http://${ip}:8001/`), 'curl 28', 'LB-7 silence');
    const vip = await clusterIp('east', 'shown');
    assert.equal(await curl(`http://${vip}:8001/`), 'shown', 'the cluster IP does not care');
  });

  test('LB-10 both protocols of a SIP server on one port, each with its own Pod port', async () => {
    const at = '127.192.13.1';
    const udp = createSocket('udp4').on('message', (m, from) => udp.send(`udp ${String(m)}`, from.port, from.address));
    udp.bind(5070, at);
    const tcp = createServer((socket) => socket.end('tcp')).listen(5071, at);
    stack.defer(() => void [udp.close(), tcp.close()]);
    const ports = [
      { name: 'sip-udp', protocol: 'UDP', port: 5060, targetPort: 5070 },
      { name: 'sip-tcp', protocol: 'TCP', port: 5060, targetPort: 5071 },
    ];
    await create('east', service('sip', { type: 'LoadBalancer', ports }), pod('sip', at));
    const vip = await clusterIp('east', 'sip');
    await until('TCP answers', async () => (await ask(vip, { at: 5060 })) === 'tcp');
    await using client = await udpClient(vip, 5060);
    await until('UDP answers', async () => (await client.ask('INVITE')) === 'udp INVITE');
  });

  test('session affinity keeps the Pod of a client', async () => {
    for (const [index, name] of ['p', 'q', 'r'].entries()) await web(`127.192.14.${index + 1}`, name);
    const spec = { sessionAffinity: 'ClientIP', ports: [{ port: 8000, targetPort: 8080 }] };
    const pods = [1, 2, 3].map((index) => pod('sticky', `127.192.14.${index}`));
    await create('east', service('sticky', spec), ...pods);
    const url = `http://${await clusterIp('east', 'sticky')}:8000/`;
    const slices = ['get', 'endpointslices', '-l', 'kubernetes.io/service-name=sticky', '-o'];
    await until('all Pods answer', async () => {
      const found = await k('east', [...slices, 'jsonpath={.items[*].endpoints[*].addresses[0]}']);
      return found.split(' ').length === 3;
    });
    await until('the Service answers', async () => (await curl(url)).length === 1);
    const answers = new Set<string>();
    for (let count = 0; count < 10; count++) answers.add(await curl(url));
    assert.equal(answers.size, 1);
  });

  test('MCS-5 MCS-42 MCS-90 MCS-107 the address of a supercluster service reaches Pods of both clusters', async () => {
    await web('127.192.15.1', 'from east');
    await web('127.193.15.1', 'from west');
    for (const [cluster, ip] of [
      ['east', '127.192.15.1'],
      ['west', '127.193.15.1'],
    ] as const) {
      await create(cluster, service('cart', { ports: [{ port: 8000, targetPort: 8080 }] }), pod('cart', ip));
      const metadata = { name: 'cart' };
      await create(cluster, { apiVersion: 'multicluster.k8s.io/v1alpha1', kind: 'ServiceExport', metadata });
    }
    for (const cluster of ['east', 'west']) {
      let vip = '';
      await until('the service is imported', async () => {
        const get = ['get', 'importedservices.multicluster.k8s.io', '-o', 'jsonpath={.items[*].spec.ip}'];
        vip = await k(cluster, get);
        return vip !== '';
      });
      const answers = new Set<string>();
      await until('both clusters answer', async () => {
        answers.add(await curl(`http://${vip}:8000/`));
        return answers.has('from east') && answers.has('from west');
      });
    }
  });

  test('proxy routes prints all routes, and why a port has none', async () => {
    const env = { KUBECONFIG: fairlead.kubeconfig };
    const routes = (name: string) =>
      run(process.execPath, ['bin/fairlead.js', 'proxy', 'routes', `default/${name}`, '--context', 'west'], { env });
    await create('west', service('ports', { type: 'NodePort', ports: [{ port: 8000, nodePort: 30123 }] }));
    assert.match((await routes('ports')).out, /^ {2}127\.0\.0\.2:30123\/TCP {2,}nodePort /m, 'as `up` serves it');
    const { out, code } = await routes('kubernetes');
    assert.equal(code, 0);
    assert.match(
      out,
      /^Service default\/kubernetes\n {2}127\.65\.0\.1:443\/TCP {2}clusterIP {2}→ 127\.0\.0\.1:\d+\n {4}used .* ready\n$/,
    );
  });
});
