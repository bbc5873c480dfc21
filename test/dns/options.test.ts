// Options of the DNS server, tested with clients.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { freePort } from '../../src/server/testing/free-port.ts';
import { FakeUpstream, reply } from '../../src/dns/forward/testing/fake-upstream.ts';
import { machineHasIpv6 } from '../../src/dns/machine.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { unlessInstalled } from '../harness/needs.ts';
import type { Bind } from './bind.ts';
import { startOutside } from './bind.ts';
import { dig, gist, resolverAt } from './clients.ts';
import type { StandAlone } from './stands.ts';
import { applyFile, fairlead, startAlone, startDns, startUp } from './stands.ts';

const svc = 'svc.cluster.local';

/** A server that never answers. */
async function startSilent(): Promise<{ readonly place: string } & Disposable> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { place: `127.0.0.1:${socket.address().port}`, [Symbol.dispose]: () => void socket.close() };
}

describe('options of the DNS server', { skip: unlessInstalled('dig', 'named') }, () => {
  const stack = new AsyncDisposableStack();
  let outside: Bind;
  let stand: StandAlone;
  let upstream = '';
  before(async () => {
    outside = stack.use(await startOutside());
    upstream = `127.0.0.1:${outside.place.port}`;
    stand = stack.use(await startAlone());
    await applyFile(stand, 'catalogue.yaml');
  });
  after(() => stack.disposeAsync());

  /** Starts a server with these flags for the same cluster. */
  async function withFlags(
    flags: readonly string[],
    use: (dns: { readonly address: string; readonly port: number }) => Promise<void>,
    address = '127.0.0.1',
  ): Promise<void> {
    const dns = { address, port: await freePort() };
    await using process = startDns(stand.kubeconfig, dns, flags);
    await process.ready();
    await use(dns);
    await process.stop('SIGTERM');
  }

  test('search completion answers the first query of a Pod with the result of its search list', async () => {
    await withFlags(['--upstream', upstream, '--search-completion'], async (dns) => {
      const first = `www.example.org.shop.${svc}`;
      assert.deepEqual(gist(await dig(dns, first)), ['A 192.0.2.1', 'CNAME www.example.org.']);
      assert.deepEqual(gist(await dig(dns, first, 'AAAA')), ['AAAA 2001:db8::1', 'CNAME www.example.org.']);
      assert.deepEqual(gist(await dig(dns, `web.shop.shop.${svc}`)), ['A 10.96.1.1', `CNAME web.shop.${svc}.`]);
      assert.deepEqual(gist(await dig(dns, `gone.example.org.shop.${svc}`)), ['NXDOMAIN']);
      assert.deepEqual(gist(await dig(dns, `nobody.shop.${svc}`)), ['NXDOMAIN']);
    });
  });

  test('clients that may not recurse get answers of our zones and REFUSED for others', async () => {
    await withFlags(['--upstream', upstream, '--allow-recursion', '127.0.0.9/32'], async (dns) => {
      assert.equal((await dig(dns, 'www.example.org')).status, 'REFUSED');
      assert.deepEqual(gist(await dig(dns, `web.shop.${svc}`)), ['A 10.96.1.1']);
      assert.deepEqual(gist(await dig(dns, `outside.shop.${svc}`)), ['CNAME www.example.org.']);
      assert.deepEqual(gist(await dig(dns, 'www.example.org', 'A', '-b', '127.0.0.9')), ['A 192.0.2.1']);
    });
  });

  test('resolves an upstream alias of a name in our zones itself, ignoring addresses of the upstream', async () => {
    await using liar = await FakeUpstream.start((arrival) => {
      const inside = `${arrival.name.toLowerCase().startsWith('secret') ? 'nobody' : 'web'}.shop.${svc}`;
      arrival.send(
        reply(arrival, [
          { name: arrival.name, type: 'CNAME', ttl: 60, data: inside },
          { name: inside, type: 'A', ttl: 60, data: '203.0.113.66' },
        ]),
      );
    });
    await withFlags(['--upstream', `127.0.0.1:${liar.endpoint.port}`], async (dns) => {
      for (const source of ['upstream', 'cache']) {
        const inward = await dig(dns, 'inward.example.org');
        assert.deepEqual(gist(inward), ['A 10.96.1.1', `CNAME web.shop.${svc}.`], `from ${source}`);
        assert.equal((await dig(dns, 'secret.example.org')).status, 'NXDOMAIN', `from ${source}`);
      }
    });
  });

  test('removes private addresses from upstream answers if configured', async () => {
    await withFlags(['--upstream', upstream], async (dns) => {
      assert.deepEqual(gist(await dig(dns, 'router.example.org')), ['A 192.168.0.1']);
    });
    await withFlags(['--upstream', upstream, '--upstream-refuse-private'], async (dns) => {
      assert.deepEqual(gist(await dig(dns, 'rebind.example.org')), ['A 192.0.2.7']);
      const router = await dig(dns, 'router.example.org');
      assert.deepEqual([router.status, router.answer], ['NOERROR', []]);
      assert.match(router.text, /EDE: 15 \(Blocked\)/);
      assert.deepEqual(gist(await dig(dns, `web.shop.${svc}`)), ['A 10.96.1.1']);
    });
    const flags = ['--stub-zone', `example.org=${upstream}`, '--upstream', upstream, '--upstream-refuse-private'];
    await withFlags(flags, async (dns) => {
      assert.deepEqual(gist(await dig(dns, 'router.example.org')), ['A 192.168.0.1']);
    });
  });

  test('limits UDP replies per client, and still answers it over TCP', async () => {
    await withFlags(['--response-rate', '5'], async (dns) => {
      const name = `web.shop.${svc}`;
      const replies = await Promise.all(
        Array.from({ length: 40 }, () => dig(dns, name, 'A', '+ignore', '+tries=1', '+time=1').catch(() => undefined)),
      );
      const whole = replies.filter((reply) => reply !== undefined && gist(reply).includes('A 10.96.1.1'));
      assert.ok(whole.length < 40, `${whole.length} of 40 got the whole reply`);
      assert.deepEqual(gist(await dig(dns, name, 'A', '+tcp')), ['A 10.96.1.1']);
    });
  });

  test('a failed upstream does not delay answers by five seconds', async () => {
    using silent = await startSilent();
    await withFlags(['--upstream', `${silent.place},${upstream}`], async (dns) => {
      const resolver = resolverAt(dns);
      for (const name of ['www', 'ns', 'www', 'ns']) {
        const from = performance.now();
        assert.equal((await resolver.resolve4(`${name}.example.org`)).length, 1);
        assert.ok(performance.now() - from < 5000, `${performance.now() - from} ms`);
      }
    });
  });

  test('a stub zone has its own servers, and AAAA of other names can be disabled', async () => {
    await withFlags(['--stub-zone', `example.org=${upstream}`, '--filter-aaaa'], async (dns) => {
      assert.deepEqual(gist(await dig(dns, 'www.example.org')), ['A 192.0.2.1']);
      assert.deepEqual(gist(await dig(dns, 'www.example.org', 'AAAA')), ['NODATA']);
      assert.deepEqual(gist(await dig(dns, `web.shop.${svc}`, 'AAAA')), ['AAAA fd00:96::1:1']);
      assert.equal((await dig(dns, 'example.com')).status, 'REFUSED');
    });
  });

  test('pod records by address, other domains, selected namespaces, one TTL', async () => {
    const flags = ['--pods', 'insecure', '--cluster-domain', 'example.net', '--namespaces', 'shop', '--ttl', '11'];
    await withFlags([...flags, '--clusterset-domain', 'none'], async (dns) => {
      assert.deepEqual(gist(await dig(dns, '10-1-2-3.shop.pod.example.net')), ['A 10.1.2.3']);
      assert.deepEqual(gist(await dig(dns, 'fd00-1--2.shop.pod.example.net', 'AAAA')), ['AAAA fd00:1::2']);
      assert.match((await dig(dns, 'web.shop.svc.example.net')).text, /\s11\s+IN\s+A\s+10\.96\.1\.1/);
      assert.deepEqual(gist(await dig(dns, 'kubernetes.default.svc.example.net')), ['NXDOMAIN']);
      assert.equal((await dig(dns, `web.shop.${svc}`)).status, 'REFUSED');
      assert.equal((await dig(dns, 'cart.shop.svc.clusterset.local')).status, 'REFUSED');
    });
  });

  test(
    'IPv6, and all addresses of the machine',
    { skip: !machineHasIpv6() && 'this machine has no IPv6' },
    async () => {
      await withFlags(
        ['--workers', '2'],
        async (dns) => {
          assert.deepEqual(gist(await dig(dns, `web.shop.${svc}`)), ['A 10.96.1.1']);
          assert.deepEqual(gist(await dig(dns, `web.shop.${svc}`, 'A', '+tcp')), ['A 10.96.1.1']);
        },
        '::1',
      );
      await withFlags(
        [],
        async ({ port }) => {
          for (const address of ['127.0.0.1', '127.0.0.5', '::1']) {
            for (const flag of ['+notcp', '+tcp']) {
              assert.deepEqual(
                gist(await dig({ address, port }, `web.shop.${svc}`, 'A', flag)),
                ['A 10.96.1.1'],
                address,
              );
            }
          }
        },
        '::',
      );
    },
  );
});

test('options under `dns` of up apply, and invalid ones exit with 2', { skip: unlessInstalled('dig') }, async () => {
  {
    await using stand = await startUp({ dns: 'cluster-domain: example.net\nupstream: none\n' });
    assert.equal((await dig(stand.dns, 'kubernetes.default.svc.example.net')).answer.length, 1);
    assert.equal((await dig(stand.dns, 'example.com')).status, 'REFUSED');
    const state = await readFile(join(stand.directory, 'state.json'), 'utf8');
    assert.match(state, /"zones":\s*\[\s*"example\.net",\s*"supercluster\.local"/);
  }
  await using directory = await temporaryDirectory();
  const config = join(directory.path, 'config.yaml');
  for (const [text, want] of [
    ['dns: {listen: ":53"}', /"listen" under "dns" is for `fairlead dns`/],
    ['dns: {ttl: soon}', /invalid argument "soon" for "--ttl" flag/],
    ['dns: {upstreams: x}', /config\.yaml: in "dns": unknown key "upstreams": did you mean "upstream"\?/],
  ] as const) {
    await writeFile(config, text);
    const { code, err } = await fairlead(['up', '--config', config, '--data-dir', join(directory.path, 'data')]);
    assert.equal(code, 2, err);
    assert.match(err, want);
  }
});
