import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';

import { freePort } from '../../server/testing/free-port.ts';
import { until } from '../../server/testing/until.ts';
import type { HealthCheck } from '../routes/health-check.ts';
import { answerFor, HealthChecks } from './health-checks.ts';

const check = (port: number, localEndpoints: number): HealthCheck => ({
  owner: 'Service shop/web',
  namespace: 'shop',
  name: 'web',
  port,
  localEndpoints,
});

for (const { name, endpoints, isHealthy, code } of [
  { name: 'succeeds on a node with endpoints', endpoints: 2, isHealthy: true, code: 200 },
  { name: 'fails on a node without endpoints', endpoints: 0, isHealthy: true, code: 503 },
  { name: 'fails if the proxy does not work', endpoints: 2, isHealthy: false, code: 503 },
]) {
  test(name, () => {
    const answer = answerFor(check(1, endpoints), isHealthy);
    assert.equal(answer.code, code);
    assert.equal(answer.weight, endpoints);
    assert.deepEqual(JSON.parse(answer.body), {
      service: { namespace: 'shop', name: 'web' },
      localEndpoints: endpoints,
      serviceProxyHealthy: isHealthy,
    });
  });
}

test('answers health checks at the port of a Service while it has one', async () => {
  const errors: unknown[] = [];
  await using checks = new HealthChecks({
    host: '127.0.0.1',
    isHealthy: () => true,
    onError: (_, error) => errors.push(error),
  });
  const port = await freePort();
  checks.set('Service shop/web', check(port, 1));
  await checks.listening();
  const ask = async (): Promise<Response> => fetch(`http://127.0.0.1:${port}/anything`);
  const answer = await ask();
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('X-Load-Balancing-Endpoint-Weight'), '1');
  assert.equal(answer.headers.get('X-Content-Type-Options'), 'nosniff');
  assert.equal(answer.headers.get('Content-Type'), 'application/json');
  await answer.text();
  checks.set('Service shop/web', check(port, 0));
  assert.equal((await ask()).status, 503);
  checks.set('Service shop/web', undefined);
  await assert.rejects(ask());
  assert.deepEqual(errors, []);
});

test('reports a port in use once, and retries', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  // A cast: a listening TCP server has an address with a port.
  const { port } = taken.address() as AddressInfo;
  const errors: unknown[] = [];
  await using checks = new HealthChecks({
    host: '127.0.0.1',
    isHealthy: () => true,
    onError: (_, error) => errors.push(error),
  });
  checks.set('Service shop/web', check(port, 1));
  await until('it is reported', () => errors.length === 1);
  checks.retry();
  await checks.listening();
  await new Promise((resolve) => taken.close(resolve));
  checks.retry();
  await checks.listening();
  assert.equal((await fetch(`http://127.0.0.1:${port}`)).status, 200);
  assert.equal(errors.length, 1, 'it was reported once');
});

test('reports a port above the limit until another is closed', async () => {
  const errors: string[] = [];
  await using checks = new HealthChecks({
    host: '127.0.0.1',
    maxPorts: 1,
    isHealthy: () => true,
    onError: ({ port }, error) => errors.push(`${port} ${String(error)}`),
  });
  const [first, second] = [await freePort(), await freePort()];
  checks.set('Service shop/web', check(first, 1));
  checks.set('Service shop/other', { ...check(second, 1), owner: 'Service shop/other' });
  checks.retry();
  await checks.listening();
  assert.deepEqual(errors, [`${second} Error: \`ulimit -n\` leaves 1 ports for health checks: raise it`]);
  checks.set('Service shop/web', undefined);
  checks.retry();
  await checks.listening();
  assert.equal((await fetch(`http://127.0.0.1:${second}`)).status, 200);
});
