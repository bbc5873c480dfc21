// LB-7, LB-9, LB-10, LB-23: traffic to load balancer addresses of `fairlead up`.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import type { Running } from '../harness/command.ts';
import { run, start } from '../harness/command.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { unless, unlessInstalled } from '../harness/needs.ts';
import { dnsAnswer, serveBoth, sipAnswer, sipOptions } from './servers.ts';

const parts = ['--parts', 'server,controllers,proxy,loadbalancer', '--cluster', 'one', '--log-level', 'silent'];

const pod = (app: string, ip: string, name: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app } },
  spec: { containers: [{ name: 'c', image: 'example.org/c' }] },
  status: { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions: [{ type: 'Ready', status: 'True' }] },
});

/** A Service with both protocols on one port. */
const both = (name: string, port: number, targetPort: number): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: {
    type: 'LoadBalancer',
    selector: { app: name },
    ports: ['UDP', 'TCP'].map((protocol) => ({ name: protocol.toLowerCase(), protocol, port, targetPort })),
  },
});

async function bindsLowPorts(): Promise<boolean> {
  const server = createServer().listen(53, '127.192.250.251');
  const isBound = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.close();
  return isBound;
}

const noPort53 = unless((await bindsLowPorts()) ? [] : ['port 53 is reserved']);

describe('load balancers of fairlead up', { skip: unlessInstalled('dig', 'kubectl') }, () => {
  const stack = new AsyncDisposableStack();
  let fairlead: Fairlead;
  let kubectl = '';
  let directory = '';

  /** Runs kubectl; returns its output or its error. */
  const ask = async (args: readonly string[], input?: object): Promise<{ out: string; err: string; code: number }> => {
    const given = input === undefined ? {} : { input: JSON.stringify(input) };
    const { out, err, code } = await run(kubectl, args, { env: { KUBECONFIG: fairlead.kubeconfig }, ...given });
    return { out, err, code: code ?? 1 };
  };
  const k = async (args: readonly string[], input?: object): Promise<string> => {
    const { out, err, code } = await ask(args, input);
    assert.equal(code, 0, err);
    return out;
  };
  const createPod = async (app: string, ip: string, name = app): Promise<void> => {
    const whole = pod(app, ip, name) as { status: object };
    await k(['create', '-f', '-'], whole);
    const patch = JSON.stringify({ status: whole.status });
    await k(['patch', 'pod', name, '--subresource=status', '--type=merge', '-p', patch]);
  };
  const create = async (service: object, app: string, ip: string): Promise<void> => {
    await k(['create', '-f', '-'], service);
    await createPod(app, ip);
  };
  const field = (name: string, path: string): Promise<string> =>
    k(['get', 'service', name, '-o', `jsonpath={${path}}`]);
  const address = (name: string): Promise<string> =>
    until(`the address of ${name}`, async () => (await field(name, '.status.loadBalancer.ingress[0].ip')) || undefined);
  const answers = async (at: string, port: number): Promise<string> =>
    `${await sipOptions('UDP', at, port)} ${await sipOptions('TCP', at, port)}`;

  /** Uses its own addresses, because any other `fairlead up` on this machine has the default ones. */
  const up = async (settings: string, ...flags: readonly string[]): ReturnType<typeof startFairlead> => {
    const config = join(directory, 'config.yaml');
    await writeFile(config, `loadbalancer:\n  pool: [test=127.47.30.1-127.47.30.99]\n  ${settings}\n`);
    return startFairlead(directory, ['up', ...parts, ...flags, '--config', config]);
  };

  before(async () => {
    directory = stack.use(await temporaryDirectory()).path;
    kubectl = (await findKubectls())[0]?.path ?? 'kubectl';
    fairlead = await up('');
    stack.defer(() => fairlead.stop());
  });
  after(() => stack.disposeAsync());

  test('LB-9 one DNS server: 53/UDP and 53/TCP on one address, by dig', { skip: noPort53 }, async () => {
    stack.use(await serveBoth('127.192.30.1', 5300, dnsAnswer));
    await create(both('dns', 53, 5300), 'dns', '127.192.30.1');
    const at = await address('dns');
    const dig = async (...flags: readonly string[]): Promise<string> =>
      (await run('dig', [`@${at}`, '+short', '+time=1', '+tries=1', ...flags, 'example.org'])).out.trim();
    await until('UDP answers', async () => (await dig('+notcp')) === '192.0.2.53');
    await until('TCP answers', async () => (await dig('+tcp')) === '192.0.2.53');
  });

  test('LB-10 one SIP server: 5060/UDP and 5060/TCP on one address and port', async () => {
    stack.use(await serveBoth('127.192.30.2', 5070, sipAnswer));
    await create(both('sip', 5060, 5070), 'sip', '127.192.30.2');
    const at = await address('sip');
    await until('both protocols answer', async () => (await answers(at, 5060)) === 'UDP TCP');
  });

  test(
    'LB-10 calls by sipp, from INVITE to BYE, over UDP and over TCP',
    { skip: unlessInstalled('sipp') },
    async () => {
      const ip = '127.192.30.4';
      // u1 and t1: all calls over one UDP socket, or over one TCP connection.
      const sipp = (transport: 'u1' | 't1', ...args: readonly string[]): Running =>
        stack.use(start('sipp', [...args, '-t', transport, '-nostdin', '-timeout', '20'], { cwd: directory }));
      for (const transport of ['u1', 't1'] as const) sipp(transport, '-sn', 'uas', '-i', ip, '-p', '5070');
      await create(both('calls', 5064, 5070), 'calls', ip);
      const at = await address('calls');
      for (const transport of ['u1', 't1'] as const) {
        const call = ['-sn', 'uac', '-i', '127.0.0.1', '-d', '10', '-m', '20', '-r', '200', `${at}:5064`];
        const ended = (): Promise<{ code: number; out: string }> => sipp(transport, ...call).ended;
        const { out } = await until(`20 calls over ${transport}`, async () => {
          const result = await ended();
          return result.code === 0 ? result : undefined;
        });
        assert.match(out, /Successful call +\| +\d+ +\| +20 /);
      }
    },
  );

  test('an unhealthy backend gets no traffic until it recovers', async () => {
    const backend = (ip: string, name: string): Promise<AsyncDisposable> =>
      serveBoth(ip, 5070, () => Buffer.from(`SIP/2.0 200 OK\r\nServer: ${name}\r\n\r\n`));
    const dies = await backend('127.192.30.5', 'one');
    stack.use(await backend('127.192.30.6', 'two'));
    const service = both('checked', 5066, 5070) as { metadata: object };
    const annotations = { 'loadbalancer.fairlead.dev/health-check': 'tcp interval=200ms rise=1 fall=2' };
    await create({ ...service, metadata: { ...service.metadata, annotations } }, 'checked', '127.192.30.5');
    await createPod('checked', '127.192.30.6', 'checked-2');
    const at = await address('checked');
    const backends = async (): Promise<string> =>
      [...new Set(await Promise.all(Array.from({ length: 20 }, () => answers(at, 5066))))].toSorted().join(', ');
    await until('both backends serve', async () => /one.*two/.test(await backends()));
    await dies[Symbol.asyncDispose]();
    await until('one backend serves', async () => (await backends()) === 'two two');
    const unhealthy = '.metadata.annotations.loadbalancer\\.fairlead\\.dev/unhealthy-endpoints';
    const dead = '127.192.30.5:5070/TCP,127.192.30.5:5070/UDP';
    await until(
      'the annotation of the Service names the backend',
      async () => (await field('checked', unhealthy)) === dead,
    );
    stack.use(await backend('127.192.30.5', 'one'));
    await until('both backends serve again', async () => /one.*two/.test(await backends()));
  });

  test('LB-23 with the gate off, existing mixed Services can be edited and deleted, on the same data directory', async () => {
    const at = await address('sip');
    await fairlead.stop();
    fairlead = await up('', '--feature-gates', 'MixedProtocolLBService=false');
    await until('both protocols answer again', async () => (await answers(at, 5060)) === 'UDP TCP');
    assert.equal(await address('sip'), at);
    const refused = await ask(['create', '-f', '-'], both('new', 5080, 5070));
    assert.match(refused.err, /may not contain more than 1 protocol when type is 'LoadBalancer'/);
    const move = [0, 1].map((index) => ({ op: 'replace', path: `/spec/ports/${index}/port`, value: 5061 }));
    await k(['patch', 'service', 'sip', '--type=json', '-p', JSON.stringify(move)]);
    await until('the port has changed', async () => (await answers(at, 5061)) === 'UDP TCP');
    await fairlead.stop();
    fairlead = await up('');
    await until('both protocols still answer', async () => (await answers(at, 5061)) === 'UDP TCP');
    await k(['delete', 'service', 'sip']);
    await until('the port is closed', async () => (await answers(at, 5061)) === ' ');
  });

  test('LB-7 a port that a cloud cannot open gets no traffic until another cloud opens it', async () => {
    await fairlead.stop();
    const simulate = async (cloud: string): Promise<void> => {
      fairlead = await up(`simulate: ${cloud}`);
    };
    await simulate('gce');
    stack.use(await serveBoth('127.192.30.3', 5070, sipAnswer));
    const tcp = both('phone', 5062, 5070) as { spec: { ports: object[] } };
    const udp = tcp.spec.ports.shift();
    await create(tcp, 'phone', '127.192.30.3');
    const at = await address('phone');
    await until('TCP answers', async () => (await answers(at, 5062)) === ' TCP');
    const add = JSON.stringify([{ op: 'add', path: '/spec/ports/-', value: udp }]);
    await k(['patch', 'service', 'phone', '--type=json', '-p', add]);
    const condition = '.status.conditions[?(@.type=="LoadBalancerMixedProtocolNotSupported")].status';
    await until('the condition reports the port', async () => (await field('phone', condition)) === 'True');
    await until('only TCP answers', async () => (await answers(at, 5062)) === ' TCP');
    assert.match(await k(['get', 'cloudloadbalancers']), /gce +ccm +default\/phone +127\.47\./);
    await fairlead.stop();
    await simulate('azure');
    await until('the condition is resolved', async () => (await field('phone', condition)) === 'False');
    const now = await address('phone');
    await until('both protocols answer', async () => (await answers(now, 5062)) === 'UDP TCP');
  });
});
