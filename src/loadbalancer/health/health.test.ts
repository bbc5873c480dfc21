import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { createServer } from 'node:net';
import { test } from 'node:test';

import { unhealthyAnnotation } from '../../api/kinds/core/service/facts.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { testServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import { clusterOf } from '../testing/cluster.ts';
import { serviceWith } from '../testing/service.ts';
import type { BackendHealth } from './probe.ts';
import { canConnect, nextHealth } from './probe.ts';
import { healthCheckAnnotation, healthConfigOf } from './settings.ts';
import { targetsOf } from './targets.ts';

const settings = (text: string) =>
  healthConfigOf(serviceWith('80/TCP', { annotations: { [healthCheckAnnotation]: text } }));
const usual = { intervalMs: 5000, timeoutMs: 2000, rise: 2, fall: 3 };

const wishes: readonly (readonly [text: string, want: ReturnType<typeof healthConfigOf>])[] = [
  ['', 'none'],
  ['tcp', usual],
  ['tcp interval=500ms fall=1', { ...usual, intervalMs: 500, fall: 1 }],
  [' tcp  timeout=1s rise=10 ', { ...usual, timeoutMs: 1000, rise: 10 }],
  ['http', { problem: '"http" is not a type of check: expected tcp' }],
  ...['interval=1ms', 'interval=5', 'rise=0', 'fall=100', 'often', 'port=80'].map(
    (word) =>
      [
        `tcp ${word}`,
        { problem: `"${word}" is not a setting: expected interval=5s, timeout=2s, rise=2 or fall=3` },
      ] as const,
  ),
];
for (const [text, want] of wishes) {
  test(`parses the annotation "${text}"`, () => assert.deepEqual(settings(text), want));
}

test('changes the health after several consecutive results', () => {
  const after = (answers: string, from: BackendHealth): string => {
    let standing = from;
    return Array.from(answers, (answer) => {
      standing = nextHealth(standing, answer === '+', usual);
      return standing.isUp ? 'u' : 'd';
    }).join('');
  };
  assert.equal(after('+--+---+-++', { isUp: true, contrary: 0 }), 'uuuuuuddddu');
  assert.equal(after('-+-++', { isUp: false, contrary: 0 }), 'ddddu');
});

test('a probe detects open ports, ends with its signal, and leaves no listener on it', async () => {
  const server = await listen('127.0.0.1');
  const { port } = server.address() as AddressInfo;
  const ending = new AbortController();
  const probe = (): Promise<boolean> => canConnect('127.0.0.1', port, { timeoutMs: 5000, signal: ending.signal });
  assert.equal(await probe(), true);
  server.close();
  await once(server, 'close');
  assert.equal(await probe(), false);
  const last = probe();
  ending.abort();
  assert.deepEqual([await last, await probe()], [false, false]);
  assert.equal(getEventListeners(ending.signal, 'abort').length, 0);
});

const slice = (endpoints: EndpointSlice['endpoints'], ports: EndpointSlice['ports']): EndpointSlice => ({
  metadata: { name: 'web-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'web' } },
  addressType: 'IPv4',
  endpoints,
  ports,
});

test('probes TCP ports of ready endpoints; a UDP port has the health of the TCP port of the same number', () => {
  const service = serviceWith('53/TCP 53/UDP 99/UDP 80/TCP');
  const ports = [
    { name: 'tcp-53', protocol: 'TCP', port: 5300 },
    { name: 'udp-53', protocol: 'UDP', port: 5301 },
    { name: 'udp-99', protocol: 'UDP', port: 9900 },
    { name: 'tcp-80', port: 8080 },
  ] as const;
  const endpoints = [
    { addresses: ['192.0.2.1'], conditions: {} },
    { addresses: ['192.0.2.2'], conditions: { ready: false } },
  ];
  assert.deepEqual(targetsOf(service, [slice(endpoints, ports)]), [
    { address: '192.0.2.1', port: 5300, endpoints: ['192.0.2.1:5300/TCP', '192.0.2.1:5301/UDP'] },
    { address: '192.0.2.1', port: 8080, endpoints: ['192.0.2.1:8080/TCP'] },
  ]);
});

async function listen(address: string, port = 0): Promise<Server> {
  const server = createServer((socket) => socket.destroy()).listen(port, address);
  await once(server, 'listening');
  return server;
}

test('annotates the Service with an unhealthy backend until it recovers, also over a restart', async () => {
  await using server = await testServer({ loopbackEndpoints: ['127.0.0.0/8'] });
  const cluster = clusterOf(server);
  const stays = await listen('127.192.60.1');
  const { port } = stays.address() as AddressInfo;
  let goes = await listen('127.192.60.2', port);
  try {
    await cluster.create('53/TCP 53/UDP', {
      annotations: { [healthCheckAnnotation]: 'tcp interval=100ms timeout=1s rise=2 fall=2' },
    });
    const endpoints = ['127.192.60.1', '127.192.60.2'].map((address) => ({ addresses: [address], conditions: {} }));
    const ports = ['TCP', 'UDP'].map((protocol) => ({ name: `${protocol.toLowerCase()}-53`, protocol, port }));
    // A cast because the array of protocols has type string[].
    await cluster.user.create(endpointSliceKind, slice(endpoints, ports as EndpointSlice['ports']));
    const named = async (): Promise<string> => (await cluster.get())?.metadata.annotations?.[unhealthyAnnotation] ?? '';
    const dead = `127.192.60.2:${port}/TCP,127.192.60.2:${port}/UDP`;
    {
      await using running = cluster.start();
      await running.ready;
      await until('an address', () => cluster.address());
      assert.equal(await named(), '');
      await new Promise((resolve) => goes.close(resolve));
      await until('it is named', async () => (await named()) === dead);
      await until('an Event reports it', async () => (await cluster.reasons()).includes('BackendUnhealthy'));
      assert.equal((await cluster.reasons()).filter((reason) => reason === 'EnsuringLoadBalancer').length, 1);
    }
    await using again = cluster.start();
    await again.ready;
    assert.equal(await named(), dead);
    goes = await listen('127.192.60.2', port);
    await until('it is back', async () => (await named()) === '');
    await until('an Event reports it', async () => (await cluster.reasons()).includes('BackendHealthy'));
    await new Promise((resolve) => goes.close(resolve));
    await until('it is named again', async () => (await named()) === dead);
    await cluster.patch('web', { metadata: { annotations: { [healthCheckAnnotation]: null } } });
    await until('the annotation is removed', async () => (await named()) === '');
  } finally {
    stays.close();
    goes.close();
  }
});
