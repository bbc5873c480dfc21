// Answers that do not fit into a datagram.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { dig, resolverAt } from './clients.ts';
import type { Stand } from './stands.ts';
import { startUp } from './stands.ts';

const name = 'many.default.svc.cluster.local';
const slices = 10;
const perSlice = 100;

const sliceOf = (slice: number): object => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: `many-${slice}`, labels: { 'kubernetes.io/service-name': 'many' } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
  endpoints: Array.from({ length: perSlice }, (_, index) => ({
    addresses: [`10.9.${slice}.${index}`],
    conditions: { ready: true },
  })),
});

describe('a headless Service with a thousand endpoints', { skip: unlessInstalled('dig') }, () => {
  const stack = new AsyncDisposableStack();
  let stand: Stand;
  before(async () => {
    stand = stack.use(await startUp());
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'many' },
      spec: { clusterIP: 'None', ports: [{ name: 'http', port: 80 }] },
    };
    const items = [service, ...Array.from({ length: slices }, (_, slice) => sliceOf(slice))];
    await stand.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await until(
      'all endpoints are served',
      async () => (await resolverAt(stand.dns).resolve4(name)).length === slices * perSlice,
    );
  });
  after(() => stack.disposeAsync());

  test('truncates UDP replies to the allowed size and sets TC', async () => {
    for (const [options, limit] of [
      [['+noedns'], 512],
      [['+bufsize=1232'], 1232],
      [['+bufsize=4096'], 1232],
    ] as const) {
      const { flags, answer, text } = await dig(stand.dns, name, 'A', '+ignore', ...options);
      assert.match(flags, /\btc\b/);
      assert.ok(answer.length > 10);
      assert.ok(Number(/MSG SIZE\s+rcvd: (\d+)/.exec(text)?.[1]) <= limit, text);
    }
  });

  test('truncates to another subset each time, so that all endpoints are used', async () => {
    const seen = new Set<string>();
    for (let tries = 0; tries < 10; tries++) {
      for (const each of (await dig(stand.dns, name, 'A', '+ignore', '+noedns')).answer) seen.add(each);
    }
    assert.ok(seen.size > 40, `${seen.size} of them`);
  });

  test('dig retries over TCP and gets all records', async () => {
    const { answer, text } = await dig(stand.dns, name);
    assert.match(text, /\(TCP\)/);
    assert.equal(answer.length, slices * perSlice);
    const srv = await dig(stand.dns, `_http._tcp.${name}`, 'SRV');
    assert.equal(srv.answer.length, slices * perSlice);
  });

  test('removes an endpoint that is no longer ready at once', async () => {
    const patch = [{ op: 'replace', path: '/endpoints/0/conditions/ready', value: false }];
    await stand.kubectl(['patch', 'endpointslice', 'many-0', '--type=json', '-p', JSON.stringify(patch)]);
    await until(
      'one record less',
      async () => (await dig(stand.dns, name, 'A', '+tcp')).answer.length === slices * perSlice - 1,
    );
    assert.equal((await dig(stand.dns, `10-9-0-0.${name}`)).status, 'NXDOMAIN');
  });
});
