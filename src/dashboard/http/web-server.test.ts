import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { pino } from 'pino';

import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { decode } from '../../api/schema/decode.ts';
import { Client } from '../../client/client.ts';
import { inProcess } from '../../client/in-process.ts';
import { testServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import { ClusterSet } from '../answers/cluster-set.ts';
import { Board } from '../server/board.ts';
import { setOf, sourceOf } from '../testing/sources.ts';
import type { Delta } from '../view/rows.ts';
import { WebServer } from './web-server.ts';

const log = pino({ level: 'silent' });
const admin = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };

async function answer(options: RequestOptions, body = ''): Promise<IncomingMessage> {
  const call = request({ host: '127.0.0.1', ...options });
  call.end(body);
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return response;
}

describe('the web server of the dashboard', () => {
  const stack = new AsyncDisposableStack();
  let client: Client;
  let web: WebServer;
  let cookie = '';

  before(async () => {
    const server = stack.use(await testServer());
    const connect = (): Client => stack.use(new Client(inProcess((call) => server.handle({ ...call, user: admin }))));
    client = connect();
    const clusters = [{ name: 'east', server: 'https://192.0.2.1', client: connect() }];
    const board = stack.use(new Board({ clusters, log, windowMs: 1 }));
    const sources = [sourceOf('east', connect)];
    const set = stack.use(new ClusterSet(sources, setOf(sources)));
    web = stack.use(
      new WebServer({ board: () => board, set, log, listen: { host: '127.0.0.1', ports: [0] }, portFlag: '--listen' }),
    );
    await web.listen();
    await board.feeds[0]?.synced;
  });
  after(() => stack.disposeAsync());

  const get = (path: string, headers: RequestOptions['headers'] = {}): Promise<IncomingMessage> =>
    answer({ port: web.port, path, headers });

  test('exchanges the secret of its address for a cookie that scripts and other sites do not get', async () => {
    const { pathname } = new URL(web.url);
    const response = await get(pathname);
    response.resume();
    assert.equal(response.statusCode, 303);
    assert.equal(response.headers.location, '/');
    const [set = ''] = response.headers['set-cookie'] ?? [];
    assert.match(set, new RegExp(`^fairlead-dashboard-${web.port}=[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/$`));
    cookie = set.split(';', 1)[0] ?? '';
  });

  test('rejects another secret, and sends no data without a session', async () => {
    for (const [path, status] of [
      ['/enter/wrong', 403],
      [`${new URL(web.url).pathname}x`, 403],
      ['/api/stream', 401],
    ] as const) {
      const response = await get(path, { cookie: `fairlead-dashboard-${web.port}=wrong` });
      assert.equal(response.statusCode, status, path);
      assert.doesNotMatch(await text(response), /kubernetes/);
    }
    assert.equal(await text(await get('/api/session')), '{"isSignedIn":false}');
    assert.equal(await text(await get('/api/session', { cookie })), '{"isSignedIn":true}');
  });

  test('rejects other hosts and origins', async () => {
    const rebound = await get('/api/session', { host: `evil.example:${web.port}`, cookie });
    assert.equal(rebound.statusCode, 421);
    const foreign = await get('/api/stream', { cookie, 'sec-fetch-site': 'same-site' });
    assert.equal(foreign.statusCode, 403);
    for (const response of [rebound, foreign]) response.resume();
  });

  test('serves the page compressed, within 150 KB in total, with a policy that allows nothing else', async () => {
    let total = 0;
    for (const path of ['/', '/page.js', '/page.css', '/icon.svg']) {
      const response = await get(path, { 'accept-encoding': 'gzip' });
      assert.equal(response.statusCode, 200, path);
      const policy = String(response.headers['content-security-policy']);
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
      assert.doesNotMatch(policy, /unsafe|https?:|\*/);
      for await (const chunk of response as AsyncIterable<Buffer>) total += chunk.length;
      const again = await get(path, { 'if-none-match': String(response.headers.etag) });
      assert.equal(again.resume().statusCode, 304, path);
    }
    assert.ok(total > 5000 && total < 150_000, `${total} bytes`);
  });

  test('sends the rows and their changes', async () => {
    const response = await get('/api/stream', { cookie });
    assert.equal(response.headers['content-type'], 'text/event-stream');
    let received = '';
    response.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
    const ids = (): readonly string[] =>
      Array.from(received.matchAll(/^data: (.*)\n\n/gm), ([, json = '']) => JSON.parse(json) as Delta).flatMap(
        ({ set = [] }) => set.map(({ id }) => id),
      );
    await until('the rows have arrived', () => received.includes('"isComplete":true'));
    assert.deepEqual(ids().toSorted(), ['cluster/east', 'service/east/default/kubernetes']);
    const { object } = decode<Service>(serviceKind.schema, {
      metadata: { namespace: 'default', name: 'web' },
      spec: { ports: [{ port: 80 }] },
    });
    await client.create(serviceKind, object);
    await until('the change has arrived', () => ids().includes('service/east/default/web'));
    response.destroy();
  });

  test('ends the oldest of more than four streams of a browser, and gives the reason', async () => {
    const streams: string[] = ['', '', '', '', ''];
    const responses: IncomingMessage[] = [];
    for (const index of streams.keys()) {
      const response = await get('/api/stream', { cookie });
      response.setEncoding('utf8').on('data', (chunk: string) => (streams[index] += chunk));
      responses.push(response);
    }
    await until('the first one has ended', () => /event: end\ndata: \{"reason":"replaced"\}/.test(streams[0] ?? ''));
    assert.ok(streams.slice(1).every((received) => !received.includes('event: end')));
    for (const response of responses) response.destroy();
    await until('closed streams are released', () => web.streams.size === 0);
  });

  test('rejects other methods and unknown paths', async () => {
    const write = await answer({
      port: web.port,
      path: '/',
      method: 'DELETE',
      headers: { origin: `http://127.0.0.1:${web.port}` },
    });
    assert.equal(write.resume().statusCode, 405);
    assert.equal((await get('/../../etc/passwd')).resume().statusCode, 404);
    assert.equal((await get('/api/nothing', { cookie })).resume().statusCode, 404);
  });
});

test('takes the next port if one is in use, and names the last one that is', async () => {
  await using stack = new AsyncDisposableStack();
  const other = createServer();
  stack.defer(() => void other.close());
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo; // it listens on a port
  const set = stack.use(new ClusterSet([], setOf([])));
  const options = { board: () => assert.fail('nobody looks'), set, log, portFlag: '--port-base' };
  const next = stack.use(new WebServer({ ...options, listen: { host: '127.0.0.1', ports: [port, 0] } }));
  await next.listen();
  assert.notEqual(next.port, port);
  const taken = stack.use(new WebServer({ ...options, listen: { host: '127.0.0.1', ports: [port] } }));
  await assert.rejects(
    taken.listen(),
    new RegExp(`^Error: port ${port} for the dashboard is in use: stop the program that uses it or pass --port-base$`),
  );
});
