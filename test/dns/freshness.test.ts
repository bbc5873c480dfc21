// Tests the delay between a change and its answer, and answers while the API server is unavailable.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { freePort } from '../../src/server/testing/free-port.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { dig, gist } from './clients.ts';
import type { Stand, StandAlone } from './stands.ts';
import { applyFile, askHealth, fairlead, startAlone, startDns, startUp } from './stands.ts';

const svc = 'svc.cluster.local';
const skip = unlessInstalled('dig');

/** The TTL of negative answers. */
const denialMs = 5000;

/** The limit between the exit of kubectl and the answer; kubectl itself takes far longer. */
async function timeUntil(what: string, probe: () => Promise<boolean>): Promise<number> {
  const from = performance.now();
  await until(what, probe);
  return performance.now() - from;
}

const stands: Readonly<Record<string, () => Promise<Stand>>> = {
  'fairlead up': () => startUp(),
  'fairlead dns': () => startAlone(),
};

for (const [name, start] of Object.entries(stands)) {
  test(
    `${name}: a created, changed or deleted Service is answered at once, although its name was denied before`,
    { skip },
    async () => {
      await using stand = await start();
      const answer = async (): Promise<readonly string[]> => gist(await dig(stand.dns, `fresh.default.${svc}`));
      const answers = (want: string) => async (): Promise<boolean> => (await answer())[0] === want;
      assert.deepEqual(await answer(), ['NXDOMAIN']);
      const create = ['create', 'service', 'clusterip', 'fresh', '--tcp=80'];
      await stand.kubectl([...create, '--clusterip=10.96.3.1']);
      const created = await timeUntil('it is there', answers('A 10.96.3.1'));
      await stand.kubectl(['delete', 'service', 'fresh']);
      const deleted = await timeUntil('it has gone', answers('NXDOMAIN'));
      await stand.kubectl([...create, '--clusterip=10.96.3.2']);
      const again = await timeUntil('it is another', answers('A 10.96.3.2'));
      // Well before the TTL of the denial ends; starting dig takes most of a second on a busy machine.
      for (const ms of [created, deleted, again]) assert.ok(ms < denialMs, `${ms} ms`);
    },
  );
}

describe('an API server that is stopped', { skip }, () => {
  const stack = new AsyncDisposableStack();
  let stand: StandAlone;
  before(async () => {
    stand = stack.use(await startAlone());
    await applyFile(stand, 'catalogue.yaml');
    await until(
      'all records are served',
      async () => (await dig(stand.dns, 'cart.shop.svc.supercluster.local')).answer.length > 0,
    );
  });
  after(() => stack.disposeAsync());

  test('DNS keeps answering, reports it by /ready and a metric, and catches up', async () => {
    await stand.server.stop('SIGKILL');
    await until('not ready', async () => (await stand.health('/readyz')).status === 503);
    assert.match((await stand.health('/readyz')).text, /requests to the API server https:\/\/\S+ fail/);
    // A liveness probe must not restart a DNS server because the API server is down
    const ready = await stand.health('/ready');
    assert.equal(ready.status, 200);
    assert.match(ready.text, /^ok, but requests to the API server https:\/\/\S+ fail/);
    assert.equal((await stand.health('/health')).status, 200);
    const metrics = await stand.metrics();
    assert.match(metrics, /^fairlead_part_ready\{part="dns"\} 0$/m);
    assert.match(metrics, /^fairlead_dns_watch_age_seconds\{resource="services"\} [\d.]+$/m);
    assert.deepEqual(gist(await dig(stand.dns, `web.shop.${svc}`)), ['A 10.96.1.1']);
    assert.deepEqual(gist(await dig(stand.dns, `nobody.shop.${svc}`)), ['NXDOMAIN']);

    await stand.server.start();
    await stand.kubectl(['create', 'service', 'clusterip', 'back', '--tcp=80', '--clusterip=10.96.3.3', '-n', 'shop']);
    await stand.kubectl(['delete', 'service', 'node', '-n', 'shop']);
    await until(
      'new records are served',
      async () => (await dig(stand.dns, `back.shop.${svc}`)).answer[0] === 'A 10.96.3.3',
    );
    await until(
      'deleted records are denied',
      async () => (await dig(stand.dns, `node.shop.${svc}`)).status === 'NXDOMAIN',
    );
    await until('ready again', async () => (await stand.health('/readyz')).status === 200);
    assert.deepEqual(await stand.health('/ready'), { status: 200, text: 'ok' });
    assert.match(await stand.metrics(), /^fairlead_part_restarts\{part="dns"\} 0$/m);
  });

  test('a DNS server that starts meanwhile denies nothing and is not ready', async () => {
    await stand.server.stop('SIGKILL');
    const dns = { address: '127.0.0.1', port: await freePort() };
    await using process = startDns(stand.kubeconfig, dns);
    await until('it listens', async () => (await askHealth(process, '/ready')).status === 503);
    await until('it answers', async () => {
      const reply = await dig(dns, `web.shop.${svc}`, 'A', '+time=1').catch(() => undefined);
      if (reply !== undefined) assert.equal(reply.status, 'SERVFAIL');
      return reply !== undefined;
    });
    assert.match((await dig(dns, `web.shop.${svc}`)).text, /EDE: 14 \(Not Ready\)/);
    await stand.server.start();
    await process.ready();
    assert.deepEqual(gist(await dig(dns, `web.shop.${svc}`)), ['A 10.96.1.1']);
    await process.stop('SIGTERM');
  });

  test('fairlead dns query names the object or rule that produced an answer', async () => {
    const ask = (...args: readonly string[]): ReturnType<typeof fairlead> =>
      fairlead(['dns', 'query', '--kubeconfig', stand.kubeconfig, ...args]);
    const found = await ask(`_kerberos._udp.idm.shop.${svc}`, 'srv');
    assert.match(found.out, /SRV 0 100 88 idm\.shop\.svc\.cluster\.local\. ; Service\/shop\/idm/);
    const denied = await ask(`idle.shop.${svc}`);
    assert.match(denied.out, /NXDOMAIN[^]*because Service "shop\/idle" is headless and has no endpoints/);
    const bad = await ask('a..b');
    assert.equal(bad.code, 2);
    assert.match(bad.err, /"a\.\.b" is not a domain name/);
  });
});
