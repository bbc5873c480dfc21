// Reloads and takeovers under load: no query may be lost.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { until } from '../../src/server/testing/until.ts';
import { freePort } from '../../src/server/testing/free-port.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { startOutside } from './bind.ts';
import type { Bind } from './bind.ts';
import type { Place } from './clients.ts';
import { dig, gist } from './clients.ts';
import { load } from './load.ts';
import type { StandAlone } from './stands.ts';
import { applyFile, askHealth, startAlone, startDns } from './stands.ts';

const svc = 'svc.cluster.local';
const own = [`web.shop.${svc} A`, `_http._tcp.web.shop.${svc} SRV`, `nobody.shop.${svc} A`, `inside.shop.${svc} A`];
const ttlOf = async (dns: Place): Promise<number> =>
  Number(/\s(\d+)\s+IN\s+A\s/.exec((await dig(dns, `web.shop.${svc}`)).text)?.[1]);
const serialOf = async (dns: Place): Promise<number> =>
  Number((await dig(dns, 'cluster.local', 'SOA')).answer[0]?.split(' ')[3]);
const rate = { seconds: 3, perSecond: 1000 };

describe('reloads and takeovers under load', { skip: unlessInstalled('dig', 'named', 'dnsperf') }, () => {
  const stack = new AsyncDisposableStack();
  let stand: StandAlone;
  let outside: Bind;
  const place = async (): Promise<Place> => ({
    address: '127.0.0.1',
    port: await freePort(),
  });
  before(async () => {
    outside = stack.use(await startOutside());
    stand = stack.use(await startAlone());
    await applyFile(stand, 'catalogue.yaml');
  });
  after(() => stack.disposeAsync());

  for (const protocol of ['udp', 'tcp'] as const) {
    test(`a reload loses no query over ${protocol}`, async () => {
      const config = join(stand.server.directory, 'dns.yaml');
      await writeFile(config, 'ttl: 7\n');
      const dns = await place();
      await using process = startDns(stand.kubeconfig, dns, [
        '--config',
        config,
        '--upstream',
        `127.0.0.1:${outside.place.port}`,
      ]);
      await process.ready();
      const questions = [...own, 'www.example.org A', `outside.shop.${svc} A`];
      const loading = load(dns, { ...rate, questions, protocol });
      const before = await serialOf(dns);
      for (const ttl of [8, 9]) {
        await delay(500);
        await writeFile(config, `ttl: ${ttl}\n`);
        globalThis.process.kill(process.pid, 'SIGHUP');
        await until(`ttl ${ttl}`, async () => (await ttlOf(dns)) === ttl);
      }
      await writeFile(config, 'ttl: nonsense\n');
      globalThis.process.kill(process.pid, 'SIGHUP');
      await until('the error is logged', async () => process.err.includes('configuration not reloaded'));
      assert.equal(await ttlOf(dns), 9, 'an invalid file changes nothing');
      const { lost, sent, codes } = await loading;
      assert.deepEqual({ lost, codes: Object.keys(codes).toSorted() }, { lost: 0, codes: ['NOERROR', 'NXDOMAIN'] });
      assert.ok(sent > 500);
      const after = await serialOf(dns);
      assert.ok(after > before, 'the serial increases');
      await process.stop('SIGTERM');
    });
  }

  test('lameduck: after SIGTERM it is not ready and keeps answering', async () => {
    const dns = await place();
    await using process = startDns(stand.kubeconfig, dns, ['--lameduck', '8s']);
    await process.ready();
    const loading = load(dns, { ...rate, questions: own });
    await delay(300);
    const stopping = process.stop('SIGTERM');
    await until('not ready', async () => (await askHealth(process, '/ready')).status === 503);
    assert.equal((await askHealth(process, '/health')).status, 200);
    const { lost } = await loading;
    assert.equal(lost, 0);
    await stopping;
  });

  test('a second server on the same port takes over without losing a query', async () => {
    const dns = await place();
    await using first = startDns(stand.kubeconfig, dns, ['--share-port']);
    await first.ready();
    const loading = load(dns, { ...rate, questions: own });
    await delay(300);
    await using second = startDns(stand.kubeconfig, dns, ['--share-port']);
    await second.ready();
    await first.stop('SIGTERM');
    const { lost, codes } = await loading;
    assert.deepEqual({ lost, codes: Object.keys(codes).toSorted() }, { lost: 0, codes: ['NOERROR', 'NXDOMAIN'] });
    assert.deepEqual(gist(await dig(dns, `web.shop.${svc}`)), ['A 10.96.1.1']);
    await second.stop('SIGTERM');
  });

  test('a port in use is an error with its number', async () => {
    const process = startDns(stand.kubeconfig, stand.dns);
    assert.equal(await process.ended(), 1);
    assert.match(process.err, new RegExp(`DNS port 127\\.0\\.0\\.1:${stand.dns.port} is in use`));
  });
});
