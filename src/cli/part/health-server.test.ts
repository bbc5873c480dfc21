import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { Registry } from 'prom-client';
import { until } from '../../server/testing/until.ts';
import { countProbes, serveHealth } from './health-server.ts';
import type { HealthServer } from './health-server.ts';

const place = { host: '127.0.0.1', port: 0, flag: 'metrics-listen' };

describe('health', () => {
  let isServing = false;
  let problems: readonly string[] = [];
  let prints = 0;
  let server: HealthServer;
  before(async () => {
    const metrics = async (): Promise<string> => {
      prints++;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return 'up 1\n';
    };
    server = await serveHealth({ ...place, problems: () => problems, isServing: () => isServing, metrics });
  });
  after(() => server[Symbol.asyncDispose]());

  const ask = async (path: string, init: RequestInit = {}): Promise<readonly [number, string]> => {
    const answer = await fetch(server.url + path, init);
    return [answer.status, await answer.text()];
  };

  test('/healthz reports readiness for the proxy, as load balancers expect', async () => {
    await using other = await serveHealth({
      ...place,
      isHealthReadiness: true,
      problems: () => ['nothing was read yet'],
      metrics: async () => '',
    });
    assert.equal((await fetch(`${other.url}/healthz`)).status, 503);
    assert.equal((await fetch(`${other.url}/livez`)).status, 200);
  });

  test('reports answers and counts them by code', async () => {
    const registry = new Registry();
    const onAnswer = countProbes(registry, 'kubeproxy_proxy');
    await using other = await serveHealth({
      ...place,
      isHealthReadiness: true,
      onAnswer,
      problems: () => ['the Node is being deleted'],
      metrics: async () => '',
    });
    for (const path of ['/healthz', '/healthz?quiet', '/livez', '/readyz']) await fetch(`${other.url}${path}`);
    const lines = (await registry.metrics()).split('\n').filter((line) => /^\w/.test(line));
    assert.deepEqual(lines, [
      'kubeproxy_proxy_healthz_total{code="200"} 0',
      'kubeproxy_proxy_healthz_total{code="503"} 2',
      'kubeproxy_proxy_livez_total{code="200"} 1',
      'kubeproxy_proxy_livez_total{code="503"} 0',
    ]);
  });

  test('is alive while it answers, and ready without problems', async () => {
    for (const path of ['/healthz', '/livez', '/readyz', '/readyz?verbose']) {
      assert.deepEqual(await ask(path), [200, 'ok'], path);
    }
    problems = ['the API server cannot be reached', 'it is starting'];
    assert.deepEqual(await ask('/readyz'), [503, 'the API server cannot be reached\nit is starting\n']);
    assert.deepEqual(await ask('/livez'), [200, 'ok']);
    assert.deepEqual(await ask('/ready'), [503, 'the API server cannot be reached\nit is starting\n']);
    isServing = true;
    assert.deepEqual(await ask('/ready'), [200, 'ok, but the API server cannot be reached\nit is starting\n']);
    assert.equal((await ask('/readyz'))[0], 503);
    problems = [];
  });

  test('concurrent requests for metrics share one result', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask('/metrics')));
    for (const answer of answers) assert.deepEqual(answer, [200, 'up 1\n']);
    assert.ok(prints < 8, `${prints} prints`);
  });

  test('rejects other paths and methods', async () => {
    assert.deepEqual(await ask('/'), [404, '404 page not found\n']);
    assert.deepEqual(await ask('/readyz', { method: 'POST', body: 'x' }), [405, 'method not allowed\n']);
    assert.equal((await ask('/healthz', { headers: { long: 'x'.repeat(9000) } }))[0], 431);
  });

  test('closes connections without requests in favor of probes', async () => {
    const sockets = Array.from({ length: 80 }, () =>
      connect({ host: '127.0.0.1', port: Number(new URL(server.url).port) }),
    );
    for (const socket of sockets) socket.on('error', () => undefined);
    for (const socket of sockets) socket.resume();
    await until('those beyond 64 are closed', () => sockets.filter(({ closed }) => closed).length >= 16);
    assert.equal((await fetch(`${server.url}/livez`)).status, 200, 'a probe gets through');
    for (const socket of sockets) socket.destroy();
  });

  test('a port in use is an error that names the port and its flag', async () => {
    const port = Number(new URL(server.url).port);
    await assert.rejects(serveHealth({ ...place, port, problems: () => [], metrics: async () => '' }), {
      message: `port ${port} for /readyz and /metrics is in use: stop the program that uses it or pass --metrics-listen`,
      code: 'FATAL',
    });
  });
});
