// The whole proxy on its own node: a real API server, real rules, real connections.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { pino } from 'pino';
import { Registry } from 'prom-client';

import { Client } from '../../src/client/client.ts';
import { inProcess } from '../../src/client/in-process.ts';
import { startProxy } from '../../src/proxy/proxy.ts';
import { testServer } from '../../src/server/testing/server.ts';
import { startCluster, whyNoNamespaces } from './namespaces/cluster.ts';
import { unless } from '../harness/needs.ts';

const slicesUrl = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';

test(
  'a Service is reachable as soon as it is written, and follows its endpoints',
  { skip: unless(whyNoNamespaces()) },
  async () => {
    await using cluster = await startCluster();
    await using server = await testServer({ serviceCidrs: ['10.96.0.0/16'] });
    const user = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };
    const client = new Client(inProcess((request) => server.handle({ ...request, user })));
    const backend = { nftables: { nft: cluster.node.within('nft'), conntrack: cluster.node.within('conntrack') } };
    await using proxy = startProxy(
      { client, log: pino({ level: 'silent' }), metrics: new Registry() },
      { nodeName: 'node', mode: 'nftables', backend, podRanges: ['10.1.0.0/24'], minSyncPeriodMs: 1 },
      { addresses: () => ['192.0.2.1', '10.1.0.1'] },
    );
    await proxy.ready;
    const write = async (method: string, url: string, body: unknown): Promise<void> => {
      const answer = await server.ask(method, url, { body });
      assert.ok(answer.status < 300, answer.text);
    };
    const slice = (address: string): object => ({
      metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      ports: [{ name: '', port: 8080, protocol: 'TCP' }],
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
    });
    /** Connects until the response is as expected, and returns how long that took. */
    const reaches = async (name: string): Promise<number> => {
      const started = performance.now();
      for (;;) {
        const [answer = ''] = await cluster.client.dial('10.96.0.50', 80, { timeoutMs: 200 });
        if (answer.split(' ')[0] === name) return performance.now() - started;
        assert.ok(performance.now() - started < 30_000, `${name} does not answer: ${answer}`);
      }
    };
    await write('POST', '/api/v1/namespaces/default/services', {
      metadata: { name: 'web' },
      spec: { clusterIP: '10.96.0.50', ports: [{ port: 80 }] },
    });
    await reaches('refused');
    await write('POST', slicesUrl, slice('10.1.0.11'));
    await reaches('podA');
    await write('PUT', `${slicesUrl}/web-1`, slice('10.1.0.12'));
    await reaches('podB');
    await write('DELETE', '/api/v1/namespaces/default/services/web', undefined);
    await reaches('silence');
    assert.deepEqual(proxy.problems(), []);
  },
);
