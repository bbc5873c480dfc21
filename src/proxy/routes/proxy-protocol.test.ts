import assert from 'node:assert/strict';
import { test } from 'node:test';

import { node, service } from './testing/objects.ts';
import { proxyProtocolProblem } from './proxy-protocol.ts';
import { routesOf } from './routes.ts';

test('uses the PROXY protocol for TCP if the annotation requests it', () => {
  const versionsFor = (version: string): readonly (string | undefined)[] => {
    const given = service({
      ports: [
        { name: 'tcp', port: 80 },
        { name: 'udp', port: 80, protocol: 'UDP' },
      ],
    });
    const annotations = { 'proxy.fairlead.dev/proxy-protocol': version };
    const marked = { ...given, metadata: { ...given.metadata, annotations } };
    return routesOf({ service: marked, slices: [], node }).map(({ proxyProtocol }) => proxyProtocol);
  };
  assert.deepEqual(versionsFor('v1'), ['v1', undefined]);
  assert.deepEqual(versionsFor('v2'), ['v2', undefined]);
  assert.deepEqual(versionsFor('v3'), [undefined, undefined]);
});

test('reports an annotation that is invalid or not honored, with the fix', () => {
  const problemOf = (
    version: string,
    relays: 'everywhere' | 'loopback',
    clusterIP = '10.96.0.10',
  ): string | undefined => {
    const ports = [80, 81, 82, 83, 84].map((port) => ({ name: `p${port}`, port }));
    const given = service({ clusterIP, ports }, { annotations: { 'proxy.fairlead.dev/proxy-protocol': version } });
    const routes = routesOf({ service: given, slices: [], node, options: { relays } });
    return proxyProtocolProblem(given, routes)?.text;
  };
  assert.equal(problemOf('v2', 'everywhere'), undefined);
  assert.equal(problemOf('v2', 'loopback', '127.64.0.10'), undefined);
  const name = 'Service shop/web: proxy.fairlead.dev/proxy-protocol';
  assert.equal(
    problemOf('v2', 'loopback'),
    `${name} is ignored at 10.96.0.10:80, 10.96.0.10:81, 10.96.0.10:82 and 2 more, where rules of the kernel pass ` +
      "connections on unchanged: set the proxy's mode to userspace, or remove it",
  );
  for (const relays of ['everywhere', 'loopback'] as const) {
    assert.equal(problemOf('v3', relays), `${name} is "v3", and ignored: set it to v1 or v2, or remove it`);
  }
});
