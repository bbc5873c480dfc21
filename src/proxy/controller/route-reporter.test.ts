import assert from 'node:assert/strict';
import { test } from 'node:test';

import { until } from '../../server/testing/until.ts';
import { inspect } from '../inspect.ts';
import { clientOf, core, post, service, startAll } from '../testing/running.ts';

test('records a problem of a route as one Event of its Service', async () => {
  await using running = await startAll({}, (server) => post(server, `${core}/services`, service('web', '10.0.0.10')));
  const { server, backend, proxy } = running;
  const text = 'Service default/web is not served at 10.0.0.10:80/TCP: another program has that port';
  backend.wrong = [
    { owner: 'Service default/web', text },
    { owner: 'Import default/web', text: 'nobody' },
  ];
  await proxy.ready;
  await post(server, `${core}/services`, service('other', '10.0.0.11'));
  const eventsOf = async (reason: string): Promise<string> =>
    (await server.ask('GET', `${core}/events?fieldSelector=reason=${reason}`)).text;
  await until('the other is routed', () => backend.lines.length === 3);
  await until('it is reported', async () => (await eventsOf('NotServed')).includes(text));
  const { items } = JSON.parse(await eventsOf('NotServed')) as { items: readonly { count: number; type: string }[] };
  assert.deepEqual(
    items.map(({ type, count }) => [type, count]),
    [['Warning', 1]],
  );
});

test('records an unsupported PROXY protocol as one Event, and lists it with the routes', async () => {
  const metadata = { name: 'web', annotations: { 'proxy.fairlead.dev/proxy-protocol': 'v2' } };
  await using running = await startAll({}, (server) =>
    post(server, `${core}/services`, { ...service('web', '10.0.0.10'), metadata }),
  );
  const { server, backend, proxy } = running;
  await proxy.ready;
  const eventsNow = async (): Promise<readonly string[]> => {
    const { text } = await server.ask('GET', `${core}/events?fieldSelector=reason=ProxyProtocolIgnored`);
    const { items } = JSON.parse(text) as { items: readonly { type: string; count: number; message: string }[] };
    return items.map(({ type, count, message }) => `${type} ${count} ${message}`);
  };
  const annotate = (value: string): Promise<unknown> =>
    server.ask('PATCH', `${core}/services/web`, {
      body: { metadata: { annotations: { 'proxy.fairlead.dev/proxy-protocol': value } } },
      type: 'application/merge-patch+json',
    });
  await until('it is reported', async () => (await eventsNow()).length === 1);
  const [line = ''] = await eventsNow();
  assert.match(line, /^Warning 1 Service default\/web: .* ignored at 10\.0\.0\.10:80, .*mode to userspace/);
  const { owners } = await inspect(clientOf(server), { nodeName: 'n1', mode: 'nftables' });
  const shown = owners.find(({ owner }) => owner === 'Service default/web');
  assert.deepEqual(shown?.problems, [line.slice('Warning 1 '.length)]);
  // Later syncs do not repeat it; another problem is reported.
  await post(server, `${core}/services`, service('other', '10.0.0.11'));
  await until('the other is routed', () => backend.lines.includes('10.0.0.11 TCP 80 → reject'));
  await annotate('v3');
  await until('that is reported', async () => (await eventsNow()).length === 2);
  assert.ok((await eventsNow()).includes(line), 'the first was reported once');
});

test('does not name Services of other namespaces in Events', async () => {
  await using running = await startAll({}, async (server) => {
    await post(server, '/api/v1/namespaces', { metadata: { name: 'apart' } });
    await post(server, '/api/v1/namespaces/apart/services', service('secret-name', '10.0.0.10', claims('192.0.2.1')));
    await post(server, `${core}/services`, service('first', '10.0.0.11', claims('192.0.2.2')));
  });
  const { server, proxy } = running;
  await proxy.ready;
  await post(server, `${core}/services`, service('web', '10.0.0.12', claims('192.0.2.1', '192.0.2.2')));
  const messages = async (): Promise<readonly string[]> => {
    const { body } = await server.ask('GET', `${core}/events?fieldSelector=reason=NotServed`);
    return (body.items as readonly { message: string }[]).map(({ message }) => message).toSorted();
  };
  await until('both conflicts are reported', async () => (await messages()).length === 2);
  assert.deepEqual(await messages(), [
    'Service default/web does not get 192.0.2.1:80/TCP: 192.0.2.1 is an external IP of another Service',
    'Service default/web does not get 192.0.2.2:80/TCP: 192.0.2.2 is an external IP of Service default/first',
  ]);
});

const claims = (...externalIPs: readonly string[]): object => ({ externalIPs });
